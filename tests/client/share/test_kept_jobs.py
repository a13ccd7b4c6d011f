"""Jobs that stay locked until their dead letter is stored, and what becomes of their locks."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.backoff import Backoff
from barnabas.client.share import queue_core, settlement
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.queue_core import QueueCore
from barnabas.client.share.queue_message import QueueMessage
from barnabas.errors import BarnabasError, BrokerUnreachable, LockLost
from tests.client.share.support import PARTITION, locked

PREFETCH = 4


class Letters:
    """Refuses to store, until it does."""

    def __init__(self) -> None:
        self.refuses = True
        self.attempts = 0
        self.stored = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def store(self, _message: QueueMessage, _group: str, _reason: str) -> None:
        self.attempts += 1
        await self.gate.wait()
        if self.refuses:
            raise BarnabasError("no room")
        self.stored += 1


class Worker:
    """A core without a cluster, that has one job."""

    def __init__(self) -> None:
        self.now = 0.0
        self.letters = Letters()
        environment = SimpleNamespace(monotonic=lambda: self.now, random=lambda: 0.5)
        self.core = QueueCore(
            cast("Any", SimpleNamespace(environment=environment)),
            "workers",
            ["jobs"],
            prefetch=PREFETCH,
            dead_letters=cast("Any", self.letters),
        )
        self.core._settlement.loop = asyncio.get_running_loop()
        session: Any = SimpleNamespace(node_id=1, lock_ms=30_000, wake=lambda: None)
        self.core._sessions[1] = session
        self.core._assignment.leaders[PARTITION] = 1
        self.job = self.take_again()

    def take_again(self) -> QueueMessage:
        """The job, with a lock that begins now."""
        job = locked(0, core=cast("Any", self.core._settlement), deadline=self.now + 30)
        job.is_delivered = True
        self.core.held.add(job)
        return job

    @property
    def room(self) -> int:
        return self.core.held.room(1, 1)

    def acknowledged(self) -> list[AcknowledgeType]:
        taken = self.core.pending.take(lambda _: True, renewals=False)
        return [each.kind for some in taken.values() for each in some]

    async def attempts(self, count: int) -> None:
        async with asyncio.timeout(60):
            while self.letters.attempts < count:
                await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "_STORE_AGAIN", Backoff(0.001, 0.001))


def run(test: Callable[[Worker], Any]) -> None:
    async def main() -> None:
        worker = Worker()
        await test(worker)
        await worker.core._tasks.close()

    asyncio.run(main())


def test_it_makes_room_and_is_rejected_when_its_letter_is_stored() -> None:
    async def test(worker: Worker) -> None:
        worker.job.reject("no good")
        await worker.attempts(3)
        assert worker.room == PREFETCH
        assert worker.acknowledged() == []
        worker.letters.refuses = False
        async with asyncio.timeout(60):
            while not (kinds := worker.acknowledged()):
                await asyncio.sleep(0)
        assert kinds == [AcknowledgeType.REJECT]
        assert worker.letters.stored == 1
        assert (len(worker.core.held), worker.room) == (0, PREFETCH)

    run(test)


def test_it_is_released_when_the_queue_is_closed() -> None:
    async def test(worker: Worker) -> None:
        worker.job.reject("no good")
        await worker.attempts(2)
        worker.core._settlement.release_kept()
        assert worker.acknowledged() == [AcknowledgeType.RELEASE]
        tried = worker.letters.attempts
        worker.letters.refuses = False
        await asyncio.sleep(0.05)
        assert worker.letters.attempts <= tried + 1, "one may have been under way"
        assert worker.acknowledged() == []

    run(test)


@pytest.mark.parametrize("fails_first", [True, False])
def test_the_first_attempt_to_store_its_letter_may_outlast_the_queue(fails_first: bool) -> None:
    """Closing waits for its end, and for no further one."""

    async def test(worker: Worker) -> None:
        worker.letters.gate.clear()
        worker.letters.refuses = fails_first
        worker.job.reject("no good")
        await worker.attempts(1)
        worker.core._settlement.release_kept()
        assert worker.acknowledged() == []
        worker.letters.gate.set()
        async with asyncio.timeout(60):
            while not (kinds := worker.acknowledged()):
                await asyncio.sleep(0)
        assert kinds == [AcknowledgeType.RELEASE if fails_first else AcknowledgeType.REJECT]
        assert worker.letters.attempts == 1

    run(test)


def test_a_delayed_release_does_not_end_a_later_lock_of_the_same_record() -> None:
    """A leader would take it: the member is the same. The job would be done twice."""

    async def test(worker: Worker) -> None:
        released = worker.job.release(delay=0.01)
        while not worker.job.is_delayed:
            await asyncio.sleep(0)
        worker.now = worker.job.deadline + 1  # it could not be renewed
        worker.core._locks._look_after(worker.job, worker.now)
        again = worker.take_again()
        with pytest.raises(LockLost):
            await asyncio.wait_for(asyncio.wrap_future(released.future), 60)
        assert worker.acknowledged() == []
        assert worker.core.held.find(again) is again

    run(test)


def test_a_letter_is_left_to_a_later_lock_of_the_same_record() -> None:
    """Of a job that no handler gets: with a new session it comes again. It has one letter."""

    async def test(worker: Worker) -> None:
        worker.job.is_delivered = False
        rejected = worker.job.reject("delivered too often")
        await worker.attempts(2)
        worker.core.session_lost(worker.core._sessions[1])
        worker.take_again()
        with pytest.raises(LockLost):
            await asyncio.wait_for(asyncio.wrap_future(rejected.future), 60)
        assert worker.room == PREFETCH - 1
        assert worker.acknowledged() == []

    run(test)


@pytest.mark.parametrize("in_the_first_attempt", [True, False])
def test_its_lock_may_expire_meanwhile(in_the_first_attempt: bool) -> None:
    async def test(worker: Worker) -> None:
        if in_the_first_attempt:
            worker.letters.gate.clear()
        rejected = worker.job.reject("no good")
        await worker.attempts(1 if in_the_first_attempt else 2)
        worker.now = worker.job.deadline + 1
        worker.core._locks._look_after(worker.job, worker.now)
        worker.letters.gate.set()
        with pytest.raises(LockLost):
            await asyncio.wait_for(asyncio.wrap_future(rejected.future), 60)
        assert (len(worker.core.held), worker.room) == (0, PREFETCH)
        assert worker.acknowledged() == []

    run(test)


def test_a_job_is_released_although_no_broker_says_whether_it_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker goes on: brokers were away for a moment."""

    async def away(*_: Any) -> int:
        raise BrokerUnreachable("no broker answers")

    async def test(worker: Worker) -> None:
        monkeypatch.setattr(queue_core, "delivery_limit", away)
        core = worker.core._settlement
        core._dead_letters = None
        core._results = cast("Any", SimpleNamespace(reply_to=lambda _: "somewhere"))
        worker.job.delivery_count = 2
        worker.job.release()
        async with asyncio.timeout(60):
            while not (kinds := worker.acknowledged()) and worker.core._tasks.crash is None:
                await asyncio.sleep(0)
        assert worker.core._tasks.crash is None
        assert kinds == [AcknowledgeType.RELEASE]

    run(test)

"""What a queue takes for locked: never longer than the leader does, and never twice."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.acknowledgements import PendingAcknowledgement
from barnabas.client.share.queue_core import QueueCore
from barnabas.client.share.share_session import SharePartition
from barnabas.wire.messages.share_fetch import AcquiredRecords, PartitionData
from tests.broker.raw_client import batch

PARTITION = SharePartition(bytes(range(16)), "jobs", 0)
LOCK_S = 2.0


class Locks:
    """A core without a cluster: this plays the session with the only leader."""

    def __init__(self) -> None:
        self.now = 100.0
        environment = SimpleNamespace(monotonic=lambda: self.now, random=lambda: 0.5)
        self.core = QueueCore(
            cast("Any", SimpleNamespace(environment=environment)),
            "workers",
            ["jobs"],
        )
        self.session: Any = SimpleNamespace(
            node_id=1, lock_ms=LOCK_S * 1000, asked_at=self.now, wake=lambda: None
        )
        self.core._settlement.loop = asyncio.get_running_loop()
        self.core._sessions[1] = self.session
        self.core._assignment.leaders[PARTITION] = 1

    def acquire(self, delivery_count: int = 1) -> None:
        """The leader has locked the record at offset 0."""
        acquired = [AcquiredRecords(0, 0, delivery_count)]
        data = PartitionData(0, records=batch(b"job"), acquired_records=acquired)
        assert self.core.acquired(self.session, PARTITION, data) == 1


def run(test: Callable[[Locks], Any]) -> None:
    async def main() -> None:
        await test(Locks())

    asyncio.run(main())


def test_the_time_of_a_lock_begins_when_it_is_asked_for() -> None:
    async def test(locks: Locks) -> None:
        locks.now += LOCK_S  # the answer was under way for so long, and the lock is over
        locks.acquire()
        assert locks.core.take() is None
        locks.session.asked_at = locks.now
        locks.acquire(2)
        again = locks.core.take()
        assert again is not None
        assert again.delivery_count == 2

    run(test)


def test_the_time_of_a_renewal_begins_when_it_is_asked_for() -> None:
    async def test(locks: Locks) -> None:
        locks.acquire()
        job = locks.core.take()
        assert job is not None
        locks.session.asked_at = locks.now = locks.now + 1
        locks.now += 0.5
        renewal = PendingAcknowledgement(0, AcknowledgeType.RENEW, job)
        locks.core.answered(locks.session, PARTITION, [renewal], None)
        assert job.deadline == locks.session.asked_at + LOCK_S

    run(test)


def test_a_job_that_the_application_has_is_not_handed_out_again_by_a_new_session() -> None:
    async def test(locks: Locks) -> None:
        locks.acquire()
        job = locks.core.take()
        assert job is not None
        locks.core.session_lost(locks.session)  # the leader has released it
        locks.session.asked_at = locks.now = locks.now + 1
        locks.acquire(2)
        assert locks.core.take() is None
        assert job.deadline == locks.now + LOCK_S
        job.accept()
        await asyncio.sleep(0)
        assert not locks.core.is_held(1)
        locks.acquire(3)  # before the acknowledgement is sent
        assert locks.core.take() is None

    run(test)


def test_a_job_whose_lock_has_expired_is_handed_out_again() -> None:
    async def test(locks: Locks) -> None:
        locks.acquire()
        job = locks.core.take()
        locks.session.asked_at = locks.now = locks.now + LOCK_S
        locks.acquire(2)
        again = locks.core.take()
        assert again is not None
        assert again is not job

    run(test)


def test_a_job_that_comes_again_while_it_is_acknowledged_is_not_handed_out() -> None:
    async def test(locks: Locks) -> None:
        locks.acquire()
        job = locks.core.take()
        assert job is not None
        accepted = job.accept()
        await asyncio.sleep(0)
        taken = locks.core.pending.take(lambda _: True, renewals=True)  # it is sent
        locks.acquire(2)
        locks.core.answered(locks.session, PARTITION, taken[PARTITION], None)
        assert accepted.done()
        assert locks.core.take() is None

    run(test)

"""Who may write the state of the service: the last one that took it, and no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import pytest

from barnabas.connect.lease_clock import lease_time
from barnabas.connect.settings import ServiceSettings, Timing
from barnabas.connect.state.leadership import Leadership, NotLeader
from barnabas.connect.state.records import Leader, definition_key, status_key
from barnabas.connect.state.state_topics import StateTopics
from barnabas.errors import BarnabasError, InvalidArgument, ProducerFenced
from barnabas.sync.admin import Admin
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async

QUICK = Timing(heartbeat_s=0.05, lease_s=0.4, takeover_s=0.5)


class Instance:
    """Takes part in the choice of the leader, and runs nothing."""

    def __init__(self, settings: ServiceSettings, topics: StateTopics, name: str) -> None:
        self.leases: list[float] = []
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.topics = topics
        self.leadership = Leadership(settings, topics, name, f"http://{name}", self._lease)
        self.task = asyncio.ensure_future(self.leadership.run(lambda: asyncio.sleep(3600)))
        self.configs = settings.configs_topic

    async def _lease(self, until: float) -> None:
        self.leases.append(until)
        await self.goes_on.wait()

    async def define(self, name: str) -> None:
        record = {definition_key(name): {"properties": {"name": name}}}
        await self.leadership.write(record, self.configs)

    def hang(self) -> None:
        """Send no heartbeats, as a process that stands still."""
        self.goes_on.clear()


def settings_for(broker: BrokerProcess) -> ServiceSettings:
    return ServiceSettings(broker.bootstrap, "checkpoints", Path(), timing=QUICK)


def test_a_lease_begins_when_its_heartbeat_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others count from when they see the heartbeat, which may be long before it is answered."""
    now, leases = 100.0, []

    async def take_long(_leadership: Leadership, _records: object) -> None:
        nonlocal now
        now += 7.0

    async def lease(until: float) -> None:
        leases.append(until)

    monkeypatch.setattr("barnabas.connect.state.leadership.lease_time", lambda: now)
    monkeypatch.setattr(Leadership, "_send", take_long)
    settings = ServiceSettings("localhost:1", "checkpoints", Path(), timing=QUICK)
    leadership = Leadership(settings, StateTopics(settings), "one:1", "http://one", lease)
    asyncio.run(leadership._heartbeat())
    assert leases == [100.0 + QUICK.lease_s]


class LateTopics:
    """Know of the leader only when they have caught up."""

    leader: Leader | None = None

    async def catch_up(self) -> None:
        self.leader = Leader("first:1", "http://first", 1, 1, resigned=False)


def test_who_has_not_caught_up_does_not_replace_a_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lead(*_: object) -> None:
        pytest.fail("there is a leader")

    async def stand_by() -> None:
        topics = cast("StateTopics", LateTopics())
        second = Leadership(settings, topics, "second:2", "http://second", lead)
        running = asyncio.ensure_future(second.run(lead))
        await wait_until_async(lambda: topics.leader or running.done())
        second.resign()
        await running

    monkeypatch.setattr(Leadership, "_lead", lead)
    settings = ServiceSettings("localhost:1", "checkpoints", Path(), timing=QUICK)
    asyncio.run(stand_by())


class UnreadableTopics:
    """Can't be read while `error` says so."""

    leader: Leader | None = None
    error: BarnabasError | None = None

    async def catch_up(self) -> None:
        if self.error is not None:
            raise self.error


class QuietProducer:
    """Writes nowhere, and is fenced by none."""

    opened = 0
    last: object = None
    """The value that was sent last."""

    def __init__(self, *_: object, **__: object) -> None: ...

    async def __aenter__(self) -> Self:
        QuietProducer.opened += 1
        return self

    async def __aexit__(self, *_: object) -> None: ...

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        yield

    async def send(self, _topic: str, value: object, _key: str) -> None:
        QuietProducer.last = value


def test_a_leader_that_can_not_read_what_it_has_written_leads_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would decide the next request by a state without it."""
    QuietProducer.opened = 0
    monkeypatch.setattr("barnabas.connect.state.leadership.Producer", QuietProducer)
    monkeypatch.setattr("barnabas.connect.state.leadership._RETRY_S", 0.01)
    asyncio.run(can_not_read())


async def can_not_read() -> None:
    settings = ServiceSettings("localhost:1", "checkpoints", Path(), timing=QUICK)
    topics = UnreadableTopics()
    first = Instance(settings, cast("StateTopics", topics), "first:1")
    await wait_until_async(lambda: first.leases)
    await first.define("one")
    assert first.leadership.is_leader
    topics.error = BarnabasError("no answer")
    with pytest.raises(BarnabasError, match="no answer"):
        await first.define("two")
    assert not first.leadership.is_leader, "it decides nothing"
    with pytest.raises(NotLeader):
        await first.define("three")
    leases = len(first.leases)
    topics.error = None
    await wait_until_async(lambda: first.leadership.is_leader and len(first.leases) > leases)
    assert QuietProducer.opened == 2, "it leads again after it has read everything"
    await first.define("four")
    first.leadership.resign()
    await first.task


class EndlessTopics(UnreadableTopics):
    """Their end is never reached by those who wait for it after `begins`."""

    begins = False
    waits = False

    async def catch_up(self) -> None:
        if self.begins:
            self.waits = True
            await asyncio.Event().wait()


def test_a_leader_that_resigns_while_it_reads_what_it_has_written_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The others need not wait for it, and don't begin before its drivers have stopped."""
    monkeypatch.setattr("barnabas.connect.state.leadership.Producer", QuietProducer)
    said: list[object] = []

    async def run() -> None:
        settings = ServiceSettings("localhost:1", "checkpoints", Path(), timing=QUICK)
        topics = EndlessTopics()
        first = Leadership(settings, cast("StateTopics", topics), "first:1", "", no_lease)

        async def lead() -> None:
            topics.begins = True
            try:
                await first.write({status_key("one"): {}}, settings.status_topic)
            finally:
                said.append(QuietProducer.last)

        task = asyncio.ensure_future(first.run(lead))
        await wait_until_async(lambda: topics.waits)
        first.resign()
        await task
        assert not first.is_leader

    asyncio.run(run())
    (at_stop, at_end) = (cast("dict[str, object]", each) for each in (*said, QuietProducer.last))
    assert not at_stop.get("resigned")
    assert at_end["resigned"] is True


async def no_lease(_until: float) -> None: ...


@dataclass
class Clock:
    """Stands still: on a slow machine a heartbeat may be late, but not by this clock."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_one_leads_and_a_fenced_one_can_write_nothing(
    broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("barnabas.connect.state.leadership.lease_time", clock)
    asyncio.run(one_leads(broker, clock))


async def one_leads(broker: BrokerProcess, clock: Clock) -> None:
    settings = settings_for(broker)
    async with StateTopics(settings) as topics, StateTopics(settings) as others:
        first = Instance(settings, topics, "first:1")
        await wait_until_async(lambda: first.leases)
        second = Instance(settings, others, "second:2")
        await first.define("one")
        for _ in range(4):  # nearly too late, but heard of each time
            seen = await wait_until_async(lambda: others.leader)
            clock.now_s += 0.9 * QUICK.takeover_s
            await wait_until_async(lambda: others.leader != seen)  # noqa: B023 - waits here
        assert first.leadership.is_leader
        assert not second.leadership.is_leader
        with pytest.raises(NotLeader):
            await second.define("two")

        first.hang()

        def takes_over() -> list[float]:
            clock.now_s += QUICK.takeover_s
            return second.leases

        await wait_until_async(takes_over)
        await second.define("two")
        assert first.leadership.is_leader  # or so it believes
        with pytest.raises(ProducerFenced):
            await first.define("zombie")
        await wait_until_async(lambda: list(topics.definitions) == ["one", "two"])
        leader = others.leader
        assert leader is not None
        assert (leader.worker_id, leader.epoch) == ("second:2", 2)
        first.goes_on.set()
        await wait_until_async(lambda: not first.leadership.is_leader)

        second.leadership.resign()  # the first one need not wait
        await second.task
        await wait_until_async(lambda: first.leadership.is_leader)
        await wait_until_async(lambda: (topics.leader or leader).epoch == 3)
        first.leadership.resign()
        await first.task


def test_one_that_replaces_a_living_leader_waits_for_its_drivers(broker: BrokerProcess) -> None:
    asyncio.run(replaces_a_living_leader(broker))


async def replaces_a_living_leader(broker: BrokerProcess) -> None:
    """As when two instances have missed the same leader, and try to replace it together."""
    settings = settings_for(broker)
    async with StateTopics(settings) as topics, StateTopics(settings) as others:
        first = Instance(settings, topics, "first:1")
        await wait_until_async(lambda: first.leases)
        ended: list[bool] = []

        async def lead() -> None:
            ended.append(lease_time() > first.leases[-1])
            second.resign()

        async def take_lease(_until: float) -> None:
            pass

        second = Leadership(settings, others, "second:2", "http://second:2", take_lease)
        await second._lead(None, lead)
        assert ended == [True], "the lease of the first one has not ended"
        first.leadership.resign()
        await first.task


def test_the_state_is_read_again_by_a_new_instance(broker: BrokerProcess) -> None:
    asyncio.run(state_is_read_again(broker))


async def state_is_read_again(broker: BrokerProcess) -> None:
    settings = settings_for(broker)
    async with StateTopics(settings) as topics:
        first = Instance(settings, topics, "first:1")
        await wait_until_async(lambda: first.leases)
        await first.define("one")
        await first.define("two")
        await first.leadership.write({definition_key("one"): None}, settings.configs_topic)
        first.leadership.resign()
        await first.task
    async with StateTopics(settings) as topics:
        assert list(topics.definitions) == ["two"]
        assert topics.status("two") is None
        assert status_key("two") not in topics.records()


def test_topics_that_would_forget_are_refused(broker: BrokerProcess) -> None:
    async def open_topics() -> None:
        async with StateTopics(settings_for(broker)):
            pass

    with Admin(broker.bootstrap) as admin:
        admin.create_topic("connect-configs", partitions=1)
    with pytest.raises(InvalidArgument, match=r"cleanup.policy=delete, and would lose"):
        asyncio.run(open_topics())

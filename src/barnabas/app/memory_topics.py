"""Topics in memory, for tests of handlers: each has one partition, and nothing is lost."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

from barnabas.app.memory_jobs import MemoryJobs
from barnabas.app.ports import Delayed, Jobs, Sink, Source
from barnabas.app.state.changelog import Changelog, ChangelogNames
from barnabas.app.state.memory_changelog import MemoryChangelog
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.delays.delayed_record import with_due
from barnabas.client.delays.delayed_topic import delayed_topic
from barnabas.client.group.committed_offsets import NO_MEMBER, GroupMembership
from barnabas.client.producer.sent_record import Delivery
from barnabas.client.rights.right import Right
from barnabas.records.message import Message
from barnabas.records.record import Header

_START_MS = 1_767_225_600_000  # 2026-01-01
_POLL_S = 0.02


class TestClock:
    """Stands still until it is moved."""

    __test__ = False  # for pytest, which takes it for a test by its name

    def __init__(self) -> None:
        self.now_ms = _START_MS
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def time_ms(self) -> int:
        return self.now_ms

    async def sleep(self, pause_s: float) -> None:
        awake = asyncio.get_running_loop().create_future()
        due_ms = self.now_ms + round(pause_s * 1000)
        heappush(self._sleepers, (due_ms, next(self._numbers), awake))
        await awake

    async def sleep_until(self, due_ms: int) -> None:
        if due_ms > self.now_ms:
            await self.sleep((due_ms - self.now_ms) / 1000)

    def wake_next(self, until_ms: int) -> bool:
        """Move to the next sleeper that is due, and wake it; False if none is."""
        while self._sleepers and self._sleepers[0][0] <= until_ms:
            due_ms, _, awake = heappop(self._sleepers)
            if not awake.done():
                self.now_ms = max(self.now_ms, due_ms)
                awake.set_result(None)
                return True
        return False


class MemoryReceipt:
    """A record that is stored already; in a transaction, its offset is not known yet."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        callback(self)

    def exception(self, timeout_s: float | None = None) -> None:
        """There is none."""

    def __await__(self) -> Generator[Any, None, Delivery]:
        yield from ()
        return self._delivery


class MemoryTopics:
    """The topics of one run."""

    def __init__(self, clock: TestClock) -> None:
        self.clock = clock
        self.records: dict[str, list[Message]] = {}
        self.sources: list[MemorySource] = []
        self.queues: list[MemoryJobs] = []
        self.max_deliveries = sys.maxsize
        """Of share groups. Nothing is dropped here: the limit of the real group is not known."""

    def append(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Sequence[Header]
    ) -> MemoryReceipt:
        log = self.records.setdefault(topic, [])
        log.append(Message(topic, 0, len(log), self.clock.now_ms, key, value, tuple(headers)))
        return MemoryReceipt(Delivery(topic, 0, len(log) - 1, self.clock.now_ms))

    # -- connections of an application ---------------------------------------------------------

    def source(self, topics: Sequence[str], _group: str | None, **_: Any) -> Source:
        source = MemorySource(self, topics)
        self.sources.append(source)
        return cast("Source", source)

    def jobs(self, topics: Sequence[str], _group: str, **_: Any) -> Jobs:
        queue = MemoryJobs(self.records, topics, self.clock)
        self.queues.append(queue)
        return cast("Jobs", queue)

    async def delivery_limit(self, _group: str) -> int:
        return self.max_deliveries

    def sink(self, **_: Any) -> Sink:
        return cast("Sink", MemorySink(self))

    async def reach(self) -> None:
        """It is always there."""

    def delayed(self, _topics: Sequence[str]) -> Delayed:
        return MemoryDelayed(self)

    def changelog(self, names: ChangelogNames, **_: Any) -> Changelog:
        return MemoryChangelog(self.records, names.topic)

    async def check_rights(self, _rights: Sequence[Right]) -> None:
        """Everything is allowed."""

    async def fence_abandoned(self, _group: str, _prefix: str) -> list[str]:
        return []

    async def ensure_topics(self, like: dict[str, str], _dead_letters: str | None = None) -> None:
        for name in like:
            self.records.setdefault(name, [])

    async def ensure_memory(self, name: str, *, like: str) -> None:  # noqa: ARG002
        self.records.setdefault(name, [])


class MemorySource:
    """Reads topics from their beginning."""

    def __init__(self, topics: MemoryTopics, names: Sequence[str]) -> None:
        self._topics = topics
        self._positions = dict.fromkeys(names, 0)
        self._paused: set[str] = set()
        self.is_polling = False
        self.done_offsets: dict[str, set[int]] = {name: set() for name in names}

    @property
    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(name, 0) for name in self._positions]

    @property
    def membership(self) -> GroupMembership:
        return NO_MEMBER

    @property
    def has_unread(self) -> bool:
        return any(
            position < len(self._topics.records.get(name, ()))
            for name, position in self._positions.items()
            if name not in self._paused
        )

    async def poll(self, timeout_s: float, max_records: int | None) -> list[Message]:
        self.is_polling = True
        try:
            if not self.has_unread:
                await asyncio.sleep(min(timeout_s, _POLL_S))
        finally:
            self.is_polling = False
        found: list[Message] = []
        for name, position in self._positions.items():
            if name not in self._paused:
                found += self._topics.records.get(name, [])[position:]
        found = found[:max_records]
        for each in found:
            self._positions[each.topic] = each.offset + 1
        return found

    async def poll_table(self, timeout_s: float) -> Any:
        import pyarrow as pa

        found = await self.poll(timeout_s, None)
        columns = ("topic", "partition", "offset", "key", "value")
        table = {name: [getattr(each, name) for each in found] for name in columns}
        table["timestamp"] = [each.timestamp for each in found]
        table["headers"] = [
            [{"key": key, "value": value} for key, value in each.headers] for each in found
        ]
        return pa.table(table)

    def done(self, message: Message) -> None:
        self.done_offsets.setdefault(message.topic, set()).add(message.offset)

    def done_up_to(self, message: Message) -> None:
        self.done_offsets.setdefault(message.topic, set()).update(range(message.offset + 1))

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Nothing survives a run."""

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        self._positions[partition.topic] = offset

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        for each in partitions or self.assignment:
            self._positions[each.topic] = 0

    async def seek_to_time(self, when: datetime, *partitions: TopicPartition) -> None:
        for each in partitions or self.assignment:
            log = self._topics.records.get(each.topic, [])
            later = (message.offset for message in log if message.timestamp >= when)
            self._positions[each.topic] = next(later, len(log))

    async def pause(self, *partitions: TopicPartition) -> None:
        self._paused |= {each.topic for each in partitions or self.assignment}

    async def resume(self, *partitions: TopicPartition) -> None:
        self._paused -= {each.topic for each in partitions or self.assignment}

    def position(self, partition: TopicPartition) -> int:
        return self._positions[partition.topic]

    async def lag(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(name, 0): len(self._topics.records.get(name, ())) - position
            for name, position in self._positions.items()
        }

    async def close(self) -> None:
        """There is nothing to leave."""


class MemoryDelayed:
    """Puts records when the clock has been moved to their time."""

    def __init__(self, topics: MemoryTopics) -> None:
        self._topics = topics
        self._waiting: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Each is moved by a task of its own."""

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        due_ms: int,
    ) -> Delivery:
        left_s = (due_ms - self._topics.clock.now_ms) / 1000
        if left_s <= 0:
            return await self._topics.append(topic, value, key, headers)

        async def move() -> None:
            await self._topics.clock.sleep(left_s)
            self._topics.append(topic, value, key, headers)

        task = asyncio.ensure_future(move())
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return await self._topics.append(
            delayed_topic(topic), value, key, with_due(headers, due_ms)
        )

    async def close(self) -> None:
        for task in list(self._waiting):
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)


class MemorySink:
    """Stores at once, or at the end of a transaction."""

    def __init__(self, topics: MemoryTopics) -> None:
        self._topics = topics
        self._held: list[tuple[str, bytes | None, bytes | None, Sequence[Header]]] | None = None

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,  # noqa: ARG002 - each topic has one
    ) -> MemoryReceipt:
        if self._held is None:
            return self._topics.append(topic, value, key, headers)
        self._held.append((topic, value, key, headers))
        return MemoryReceipt(Delivery(topic, 0, -1, self._topics.clock.now_ms))

    async def flush(self) -> None:
        """Everything is stored."""

    def transaction(self, _consumer: Any) -> AbstractAsyncContextManager[None]:
        return self._transaction()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        self._held = []
        try:
            yield
            for each in self._held:
                self._topics.append(*each)
        finally:
            self._held = None

    async def close(self) -> None:
        """There is nothing to send."""

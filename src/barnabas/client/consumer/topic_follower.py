"""Follows a topic: what its records add up to, in memory, kept current.

It reads the topic from its beginning and then follows it, and gives all records to `apply`, in
order. The state is changed in the thread of the cluster's loop. Where what was read is no longer
what the topic has, since records were deleted before they were read or the topic was created
again, all is read again into a new state, which replaces the old one when it is complete. While
brokers are away the last known state stays.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.errors import BarnabasError, ConsumerBroken, DataLost, RequestTimedOut, UnknownTopic
from barnabas.records.message import Message
from barnabas.wire.messages.fetch import PartitionData

S = TypeVar("S")

_log = logging.getLogger("barnabas")
_LOOK_S = 0.5
"""How often one that nothing comes for looks whether there is nothing left to come."""
_AT_ONCE = FetchTuning(max_wait_ms=0, partition_max_bytes=1)


class TopicFollower(Generic[S]):
    """Follows one topic. It begins with its first use."""

    def __init__(
        self,
        cluster: ClusterClient,
        topic: str,
        isolation: IsolationLevel,
        begin: Callable[[], S],
        apply: Callable[[S, list[Message]], None],
    ) -> None:
        """`begin` makes a state without records."""
        self._begin = begin
        self._apply = apply
        self.state = begin()
        self.is_loaded = False
        """Whether the topic was read to its end once."""
        self.failure: BarnabasError | None = None
        """Why the state is no longer kept current, and won't be again."""
        self._cluster = cluster
        self._topic = topic
        self._isolation = isolation
        self._building = self.state
        self._consumer = self._new_consumer()
        self._changed = asyncio.Event()
        self._started = False
        self._channel = Channel()
        self._tasks = BackgroundTasks(self._notify)

    async def close(self) -> None:
        await self._tasks.close()
        try:
            await self._consumer.leave()
        finally:
            await self._cluster.close()

    async def wait_until_current(
        self, timeout_s: float | None, open_transactions: bool = False
    ) -> None:
        """Have all that was in the topic when this was called. Raises `RequestTimedOut`.

        With `open_transactions`, also what was not committed yet, as far as it is later.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._start()
                isolation = (
                    IsolationLevel.READ_UNCOMMITTED if open_transactions else self._isolation
                )
                await self._reach(await self._ends(isolation))
        except TimeoutError as error:
            raise RequestTimedOut(
                f"topic {self._topic} was not read to its end in {timeout_s} s; it is still being "
                "read: allow for more time"
            ) from error

    async def wait_until(self, is_reached: Callable[[S], bool], timeout_s: float) -> None:
        """Wait until the state is as wanted. Raises `RequestTimedOut`."""
        try:
            async with asyncio.timeout(timeout_s):
                while not is_reached(self.state):
                    if self.failure is not None:
                        raise self.failure
                    await self._changed.wait()
        except TimeoutError as error:
            raise RequestTimedOut(
                f"the records that are waited for were not read from topic {self._topic} in "
                f"{timeout_s} s"
            ) from error

    async def _start(self) -> None:
        if self._started:
            return
        await self._cluster.retrying(lambda: self._cluster.topics([self._topic]))
        if not self._started:
            self._started = True
            self._tasks.start(self._follow())

    def _new_consumer(self) -> ConsumerCore:
        return ConsumerCore(self._cluster, [self._topic], isolation=self._isolation)

    # -- following -----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                await self._consumer.wait_for_messages(None)
                while messages := self._consumer.delivery_queue.take(None):
                    self._apply(self._building, messages)
                    self._consumer.delivery_queue.settle()
                    self._notify()
                    await asyncio.sleep(0)
            except (DataLost, UnknownTopic) as error:
                _log.warning("topic %s is read again from its beginning: %s", self._topic, error)
                await self._begin_again()
            except BarnabasError as error:
                if not error.retriable:
                    self.failure = error
                    self._notify()
                    return
                _log.warning("topic %s is not followed: %s", self._topic, error)

    async def _begin_again(self) -> None:
        """Read everything into another state, which replaces this one at the end."""
        await self._consumer.leave()
        self._building = self._begin()
        self._consumer = self._new_consumer()
        self._tasks.start(self._replace(self._building))

    async def _replace(self, building: S) -> None:
        ends = await self._ends_of_existing()
        while self._building is building and not await self._has_reached(ends):
            await self._wait(_LOOK_S)
        if self._building is building:
            self.state = building
            self._notify()

    def _notify(self) -> None:
        if self._tasks.crash is not None and self.failure is None:
            self.failure = ConsumerBroken.by(self._tasks.crash)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # -- being current -------------------------------------------------------------------------

    async def _ends(self, isolation: IsolationLevel) -> dict[TopicPartition, int]:
        """Where the topic ends now; brokers that are away are waited for."""
        topics = await self._cluster.retrying(lambda: self._cluster.topics([self._topic]))
        topic = topics[self._topic]
        partitions = [TopicPartition(self._topic, each.partition) for each in topic.partitions]
        found = await list_offsets(self._cluster, dict.fromkeys(partitions, LATEST), isolation)
        return {each: there.offset for each, there in found.items()}

    async def _ends_of_existing(self) -> dict[TopicPartition, int]:
        """As soon as the topic is there again."""
        while True:
            try:
                return await self._ends(self._isolation)
            except BarnabasError as error:
                if not error.retriable and not isinstance(error, UnknownTopic):
                    raise
                await asyncio.sleep(_LOOK_S)

    async def _reach(self, ends: Mapping[TopicPartition, int]) -> None:
        while self.state is not self._building or not await self._has_reached(ends):
            if self.failure is not None:
                raise self.failure
            await self._wait(_LOOK_S)
        self.is_loaded = True

    async def _has_reached(self, ends: Mapping[TopicPartition, int]) -> bool:
        return all([await self._is_at(each, end) for each, end in ends.items()])

    async def _is_at(self, partition: TopicPartition, end: int) -> bool:
        """Whether all before `end` was applied; compaction may have left nothing up to there."""
        state = self._consumer.fetcher.states.get(partition)
        if state is None:
            return end == 0
        position = state.progress.position
        if position >= end:
            return True
        if self._consumer.delivery_queue.is_ready:
            return False
        offsets = {partition: position}
        try:
            leader = await self._cluster.leader(partition)
            answers = await fetch(
                self._cluster, leader, self._channel, offsets, _AT_ONCE, self._isolation
            )
        except BarnabasError as error:
            if not error.retriable:
                raise
            return False  # who follows the topic finds the next leader
        return any(
            not data.error_code and not data.records and _readable(data, self._isolation) >= end
            for _, data in answers
        )

    async def _wait(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            pass


def _readable(data: PartitionData, isolation: IsolationLevel) -> int:
    """Where a reader of this isolation ends."""
    if isolation is IsolationLevel.READ_COMMITTED and data.last_stable_offset >= 0:
        return data.last_stable_offset
    return data.high_watermark

"""The fetches from one broker, one after the other.

Each asks for all partitions that are read from it, so none waits behind another's long poll. One
that is newly read, or read from elsewhere, would have to wait for the fetch that is under way: if
that is a long poll, it is cancelled and its connection closed, which would answer it first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.completed_fetch import FetchState
from barnabas.client.consumer.fetch_counts import FetchCounts
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import BarnabasError
from barnabas.wire.messages.fetch import PartitionData

_HURRY_S = 0.02  # a fetch that is not answered by then waits for records


class RequestedPartition(NamedTuple):
    """What a fetch asks for; the answer counts as long as the reading is of the same epoch."""

    state: FetchState
    epoch: int
    offset: int
    topic_id: bytes


class FetchCallbacks(NamedTuple):
    """What a reader needs of its owner."""

    wait_for_room: Callable[[], Awaitable[None]]
    states_of: Callable[[int], Iterable[FetchState]]
    accept: Callable[[RequestedPartition, PartitionData], Awaitable[None]]
    mark_unavailable: Callable[[FetchState, BarnabasError], None]
    may_read_from_followers: Callable[[Iterable[FetchState]], bool]


class BrokerFetcher:
    """Reads while there is something to read from its broker; `wake` has it look again."""

    def __init__(
        self,
        cluster: ClusterClient,
        node_id: int,
        work: FetchCallbacks,
        tasks: BackgroundTasks,
        tuning: FetchTuning,
        isolation: IsolationLevel,
        counts: FetchCounts,
    ) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._work = work
        self._tasks = tasks
        self._tuning = tuning
        self._isolation = isolation
        self._counts = counts
        self._channel = Channel()
        self._task: asyncio.Task[None] | None = None
        self._asked: Mapping[TopicPartition, RequestedPartition] = {}

    async def close(self) -> None:
        await self._cluster.close_channel(self._channel)

    def wake(self, state: FetchState) -> None:
        """Something is to be read from this broker."""
        if self._task is None:
            self._task = self._tasks.start(self._run())
        elif self._asked and not self._is_asked_for(state):
            asyncio.get_running_loop().call_later(_HURRY_S, self._give_up, self._asked)

    def _is_asked_for(self, state: FetchState) -> bool:
        asked = self._asked.get(state.partition)
        return asked is not None and asked.state is state and asked.epoch == state.epoch

    def _give_up(self, asked: Mapping[TopicPartition, RequestedPartition]) -> None:
        if self._asked is not asked or self._task is None:
            return
        self._task.cancel()
        closing, self._channel = self._channel, Channel()
        self._asked = {}
        self._task = self._tasks.start(self._run())
        self._tasks.start(self._cluster.close_channel(closing))

    async def _run(self) -> None:
        while True:
            await self._work.wait_for_room()
            asked = {
                each.partition: RequestedPartition(each, each.epoch, each.offset, each.topic_id)
                for each in self._work.states_of(self._node_id)
            }
            if not asked:
                self._task = None
                return
            for partition, data in await self._fetch(asked):
                await self._work.accept(asked[partition], data)

    def _throttled(self, throttle_time_ms: int) -> None:
        self._counts.throttle_ms.observe(throttle_time_ms, self._cluster.environment.monotonic())

    async def _fetch(
        self, asked: Mapping[TopicPartition, RequestedPartition]
    ) -> list[tuple[TopicPartition, PartitionData]]:
        self._asked = asked
        offsets = {partition: each.offset for partition, each in asked.items()}
        topic_ids = {partition: each.topic_id for partition, each in asked.items()}
        may_follow = self._work.may_read_from_followers(each.state for each in asked.values())
        try:
            return await fetch(
                self._cluster,
                self._node_id,
                self._channel,
                offsets,
                self._tuning,
                self._isolation,
                topic_ids,
                self._tuning.rack if may_follow else "",
                self._throttled,
            )
        except BarnabasError as error:
            for state, epoch, *_ in asked.values():
                if state.epoch == epoch:
                    self._work.mark_unavailable(state, error)
            return []
        finally:
            if self._asked is asked:
                self._asked = {}

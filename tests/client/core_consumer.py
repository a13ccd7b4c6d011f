"""The core of the public consumers, polled in the loop of a test."""

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.errors import BarnabasError
from barnabas.records.message import Message


class CoreConsumer(ConsumerCore):
    """Reads as `barnabas.aio.Consumer` does, without the thread of the engine.

    With `commit_interval_ms=None` it commits nothing by itself: for transactions.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        topics: Sequence[str] = (),
        *,
        group_id: str | None = None,
        session_timeout_ms: int = 45_000,
        commit_interval_ms: int | None = 5_000,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
    ) -> None:
        member = None
        if group_id is not None:
            member = ClassicMember(cluster, group_id, topics, session_timeout_ms=session_timeout_ms)
        super().__init__(
            cluster,
            topics,
            group_id=group_id,
            member=member,
            out_of_range=out_of_range,
            mode=CommitMode.MANUAL if commit_interval_ms is None else CommitMode.AUTO,
            commit_interval_ms=commit_interval_ms,
            isolation=isolation,
            tuning=tuning,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.delivery_queue.settle()
        await self.leave()

    @property
    def member(self) -> ClassicMember:
        assert self.rebalancer is not None
        return self.rebalancer.member

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset of the next message of each assigned partition."""
        return {each: self.position(each) for each in self.assignment}

    @property
    def unavailable(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be fetched now, and why."""
        return self.fetcher.unavailable

    async def poll(self, timeout_ms: int = 1_000) -> list[Message]:
        """What `Consumer.poll` returns."""
        self.delivery_queue.settle()
        await asyncio.sleep(0)
        messages = self.delivery_queue.take(None)
        now = asyncio.get_running_loop().time
        deadline = now() + timeout_ms / 1000
        while not messages:
            left_s = max(0.0, deadline - now())
            if await self.wait_for_messages(left_s * 1000) is not None:
                await self.event_handled()
            messages = self.delivery_queue.take(None)
            if not left_s:
                break
        return messages

"""A consumer whose partitions come from its group, for those who live in the core's loop.

Offsets are committed of records that were handed over and marked as done: `mark` says up to where.
They are committed now and then, before a rebalance takes partitions away, and at the end; or by the
transactions of a producer, with what was made of the records.
"""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import CommittableOffsets
from barnabas.client.consumer.consumer import Fetched, positions_of, take_all
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.group_member import GroupMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BarnabasError


class GroupConsumer:
    """Use it as an async context manager: leaving it commits and leaves the group.

    `start` is the time (EARLIEST or LATEST) where a partition begins that nobody has committed.
    With `commit_interval_ms=None` it commits nothing by itself: give it to transactions.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        topics: Sequence[str],
        *,
        start: int = EARLIEST,
        commit_interval_ms: int | None = 5_000,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        session_timeout_ms: int = 45_000,
        group_instance_id: str | None = None,
        tuning: FetchTuning | None = None,
    ) -> None:
        self.group_id = group_id
        self._member = GroupMember(
            cluster,
            group_id,
            topics,
            session_timeout_ms=session_timeout_ms,
            group_instance_id=group_instance_id,
        )
        self._core = ConsumerCore(
            cluster,
            topics,
            group_id=group_id,
            member=self._member,
            start=start,
            out_of_range=start,
            mode=CommitMode.DONE,
            commit_interval_ms=commit_interval_ms,
            isolation=isolation,
            tuning=tuning,
        )
        self._core.outbox.tracks = False  # `mark` says up to where, so they are done in order

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._core.leave()

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset of the next record that `poll` will return, for each assigned partition."""
        return positions_of(self._core.fetcher)

    @property
    def away(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be read now while others are, and why."""
        return self._core.fetcher.away

    async def poll(self, timeout_ms: int = 1_000) -> list[Fetched]:
        """Wait for records of this member's partitions, rejoining the group when it asks for it."""
        deadline = monotonic() + timeout_ms / 1000
        outbox, fetcher = self._core.outbox, self._core.fetcher
        while True:
            left_ms = max(0, deadline - monotonic()) * 1000
            news = await self._core.attend(left_ms)
            if news is not None:
                await self._core.heard()
            fetched = take_all(fetcher, lambda: not outbox.wanted)
            if fetched or (news is None and monotonic() >= deadline):
                await asyncio.sleep(0)  # who has much to read must not keep it from being fetched
                return fetched

    async def join(self) -> None:
        """Be a member with partitions and positions, unless that is so already."""
        await self._core.join()

    async def commit(self) -> None:
        """Commit what was marked."""
        await self._core.commit()

    def mark(self, partition: TopicPartition, next_offset: int) -> None:
        """Everything before `next_offset` is done, and may be committed."""
        reading = self._core.fetcher.readings.get(partition)
        if reading is not None:
            reading.ledger.finish(next_offset)

    def take_marked(self) -> CommittableOffsets:
        """Leave it to somebody else to commit what was marked.

        They do it in the name of the member that read the first of it. If the group has moved on
        since, that is refused: others may read these records.
        """
        return self._core.take_marked()

    def rewind(self) -> None:
        """Forget what was marked, and read on from where the group has committed."""
        self._core.rewind()

"""A consumer whose partitions come from its group and whose positions are committed there.

Offsets are committed of records that were handed over and marked as done: `mark` says up to where.
They are committed now and then, before a rebalance takes partitions away, and at the end.
"""

from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Self

from barnabas.client.cluster import Cluster
from barnabas.client.consumer import Consumer, Fetched
from barnabas.client.errors import BarnabasError, BrokerError
from barnabas.client.group import GroupMember
from barnabas.client.group_offsets import commit_offsets, fetch_committed
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, list_offsets
from barnabas.wire.errors import ErrorCode

# The group has moved on without this member: others read these records again.
_FENCED = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
    }
)


class GroupConsumer:
    """Use it as an async context manager: leaving it commits and leaves the group.

    `start` is the time (EARLIEST or LATEST) where a partition begins that nobody has committed.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Sequence[str],
        *,
        start: int = EARLIEST,
        commit_interval_ms: int = 5_000,
        session_timeout_ms: int = 45_000,
        group_instance_id: str | None = None,
    ) -> None:
        self.consumer = Consumer(cluster, out_of_range=start)
        self._cluster = cluster
        self._topics = list(topics)
        self._start = start
        self._commit_interval = commit_interval_ms / 1000
        self._member = GroupMember(
            cluster,
            group_id,
            topics,
            session_timeout_ms=session_timeout_ms,
            group_instance_id=group_instance_id,
        )
        self._done: dict[TopicPartition, int] = {}
        self._committed_at = monotonic()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.consumer.close()
        try:
            await self.commit()
        finally:
            await self._member.leave()

    async def poll(self, timeout_ms: int = 1_000) -> list[Fetched]:
        """Wait for records of this member's partitions, rejoining the group when it asks for it."""
        await self.join()
        if monotonic() - self._committed_at >= self._commit_interval:
            await self.commit()
        return await self.consumer.poll(timeout_ms)

    async def join(self) -> None:
        """Be a member with partitions and positions, unless that is so already."""
        if self._member.rejoin_needed.is_set():
            await self._rejoin()

    def mark(self, partition: TopicPartition, next_offset: int) -> None:
        """Everything before `next_offset` is done, and may be committed."""
        self._done[partition] = next_offset

    async def commit(self) -> None:
        """Commit what was marked. Being fenced is no error: it is read again by somebody else."""
        self._committed_at = monotonic()
        if not self._done:
            return
        offsets, self._done = self._done, {}
        try:
            await commit_offsets(
                self._cluster, self._member.group_id, offsets, self._member.membership
            )
        except BrokerError as error:
            if error.code not in _FENCED:
                self._done = {**offsets, **self._done}
                raise
            self._member.rejoin_needed.set()
        except BarnabasError:
            self._done = {**offsets, **self._done}
            raise

    async def _rejoin(self) -> None:
        await self.commit()
        self.consumer.assign({})
        partitions = await self._member.join()
        committed = await fetch_committed(self._cluster, self._member.group_id, partitions)
        fresh = [each for each in partitions if each not in committed]
        started = await list_offsets(self._cluster, dict.fromkeys(fresh, self._start))
        offsets = {each: found.offset for each, found in started.items()}
        self.consumer.assign({**committed, **offsets})

"""A consumer whose partitions come from its group and whose positions are committed there.

Offsets are committed of records that were handed over and marked as done: `mark` says up to where.
They are committed now and then, before a rebalance takes partitions away, and at the end; or by the
transactions of a producer, with what was made of the records.
"""

from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from barnabas.client.cluster import Cluster
from barnabas.client.consumer import Consumer, Fetched
from barnabas.client.errors import BarnabasError, BrokerError
from barnabas.client.group import GroupMember
from barnabas.client.group_offsets import NOBODY, Membership, commit_offsets, fetch_committed
from barnabas.client.isolation import IsolationLevel
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


class Marked(NamedTuple):
    """Offsets that may be committed, in the name of the member that read up to them."""

    offsets: dict[TopicPartition, int]
    membership: Membership


class GroupConsumer:
    """Use it as an async context manager: leaving it commits and leaves the group.

    `start` is the time (EARLIEST or LATEST) where a partition begins that nobody has committed.
    With `commit_interval_ms=None` it commits nothing by itself: give it to transactions.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Sequence[str],
        *,
        start: int = EARLIEST,
        commit_interval_ms: int | None = 5_000,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        session_timeout_ms: int = 45_000,
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.consumer = Consumer(cluster, out_of_range=start, isolation=isolation)
        self._cluster = cluster
        self._topics = list(topics)
        self._start = start
        self._isolation = isolation
        self._commit_interval_ms = commit_interval_ms
        self._member = GroupMember(
            cluster,
            group_id,
            topics,
            session_timeout_ms=session_timeout_ms,
            group_instance_id=group_instance_id,
        )
        self._done: dict[TopicPartition, int] = {}
        self._done_as = NOBODY
        self._handed: dict[TopicPartition, int] = {}  # behind the last record handed over
        self._marked: dict[TopicPartition, int] = {}  # the last mark
        self._committed_at = monotonic()
        self._partitions: list[TopicPartition] = []
        self._astray = False  # whether the place to read them from has to be looked up

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
            if self._commit_interval_ms is not None:
                await self.commit()
        finally:
            await self._member.leave()

    async def poll(self, timeout_ms: int = 1_000) -> list[Fetched]:
        """Wait for records of this member's partitions, rejoining the group when it asks for it."""
        await self.join()
        interval_ms = self._commit_interval_ms
        if interval_ms is not None and (monotonic() - self._committed_at) * 1000 >= interval_ms:
            await self.commit()
        fetched = await self.consumer.poll(timeout_ms)
        for each in fetched:
            self._handed[each.partition] = each.records[-1].offset + 1
        return fetched

    async def join(self) -> None:
        """Be a member with partitions and positions, unless that is so already."""
        if self._member.rejoin_needed.is_set():
            await self._rejoin()
        elif self._astray:
            await self._go_where_committed()

    def mark(self, partition: TopicPartition, next_offset: int) -> None:
        """Everything before `next_offset` is done, and may be committed."""
        if not self._done:
            self._done_as = self._member.membership
        self._done[partition] = self._marked[partition] = next_offset

    def take_marked(self) -> Marked:
        """Leave it to somebody else to commit what was marked.

        They do it in the name of the member that marked the first of it. If the group has moved on
        since, that is refused: others may read these records.
        """
        if self._done:
            self._mark_passed_over()
        offsets, self._done = self._done, {}
        return Marked(offsets, self._done_as)

    def rewind(self) -> None:
        """Forget what was marked, and read on from where the group has committed."""
        self._done = {}
        self._astray = True

    async def commit(self) -> None:
        """Commit what was marked. Being fenced is no error: it is read again by somebody else."""
        self._committed_at = monotonic()
        self._mark_passed_over()
        if not self._done:
            return
        offsets, self._done = self._done, {}
        try:
            await commit_offsets(self._cluster, self.group_id, offsets, self._member.membership)
        except BrokerError as error:
            if error.code not in _FENCED:
                self._done = {**offsets, **self._done}
                raise
            self._member.rejoin_needed.set()
        except BarnabasError:
            self._done = {**offsets, **self._done}
            raise

    def _mark_passed_over(self) -> None:
        """Where all records are done, so is what came behind them and is not shown to anybody."""
        for partition, position in self.consumer.positions.items():
            marked = self._marked.get(partition, position)
            if self._handed.get(partition, position) <= marked < position:
                self.mark(partition, position)

    async def _rejoin(self) -> None:
        if self._commit_interval_ms is not None:
            await self.commit()
        self.consumer.assign({})
        self._partitions = await self._member.join()
        self._astray = True
        await self._go_where_committed()

    async def _go_where_committed(self) -> None:
        committed = await fetch_committed(
            self._cluster, self.group_id, self._partitions, stable=True
        )
        fresh = dict.fromkeys([p for p in self._partitions if p not in committed], self._start)
        started = await list_offsets(self._cluster, fresh, self._isolation)
        offsets = {each: found.offset for each, found in started.items()}
        self.consumer.assign({**committed, **offsets})
        self._handed = dict(self.consumer.positions)
        self._marked = dict(self.consumer.positions)
        self._astray = False

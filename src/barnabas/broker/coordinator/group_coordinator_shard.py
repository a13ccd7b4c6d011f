"""The groups of one partition of `__consumer_offsets`, for as long as this node leads it."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Collection, Mapping, Sequence

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.decision import CoordinatorDecision, Reply
from barnabas.coordination.record_format import CorruptRecord
from barnabas.groups import NO_PRODUCER_ID, GroupShard
from barnabas.groups.image import GroupsImage
from barnabas.records.batch import BatchHeader
from barnabas.records.control import ControlType, parse_control_record
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Record as StoredRecord
from barnabas.wire.errors import ErrorCode

_SWEEP_AFTER_S = 600


class GroupCoordinatorShard(CoordinatorShard[CoordinatorDecision]):
    def __init__(
        self,
        partition: LeaderPartition,
        groups: GroupShard,
        loop: AbstractEventLoop,
        clock: Clock,
        commit_timeout_ms: int,
        topics: Callable[[], Collection[str]],
    ) -> None:
        """`topics` returns the names of all topics."""
        super().__init__(partition, loop, clock, commit_timeout_ms)
        self.groups = groups
        self._topics = topics
        self._deleted_topics: dict[bytes, str] = {}
        """Topics that were deleted during loading, and the names that they had."""
        self._sweep_timer: TimerHandle | None = None

    # -- life cycle --------------------------------------------------------------------------------

    @property
    def image(self) -> GroupsImage:
        return self.groups.image

    def replay(self, header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Raises `CorruptRecord`."""
        replay_group_batch(self.groups, header, records)

    def transaction_ended(self, next_offset: int, producer_id: int, *, is_commit: bool) -> None:
        """A transaction's marker was appended, before `next_offset`; it takes effect once it is
        committed."""
        ended = self.groups.transaction_ended(producer_id, is_commit=is_commit)
        self.appended(ended, next_offset)

    def _loaded(self) -> None:
        """Restore groups from the log; session timeouts restart."""
        self.groups.loaded(self.now_ms())
        deleted, self._deleted_topics = self._deleted_topics, {}
        self.carry_out(self.groups.topics_deleted(set(deleted.values()), deleted.keys()))
        self._sweep_timer = self._loop.call_later(_SWEEP_AFTER_S, self._sweep)

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        return self.groups.unload(error)

    def _committed(self, decision: CoordinatorDecision) -> CoordinatorDecision:
        return self.groups.committed(decision, now_ms=self.now_ms())

    def _failed(self, decision: CoordinatorDecision, error: ErrorCode) -> CoordinatorDecision:
        return self.groups.failed(decision, error, now_ms=self.now_ms())

    def _tick(self) -> CoordinatorDecision:
        return self.groups.tick(self.now_ms())

    def _next_deadline_ms(self) -> int | None:
        return self.groups.next_deadline_ms()

    # -- deleted topics ----------------------------------------------------------------------------

    def topics_deleted(self, names: Mapping[bytes, str]) -> None:
        """Delete the offsets of deleted topics, now or as soon as they are loaded.

        `names` has the name that each topic had, by its id.
        """
        if self._refusal is ErrorCode.NONE:
            self.carry_out(self.groups.topics_deleted(set(names.values()), names.keys()))
        else:
            self._deleted_topics.update(names)

    def _sweep(self) -> None:
        """Delete offsets of topics that were deleted while there was no leader, or when the leader
        failed.

        This is delayed: right after a start a node may not know all existing topics yet.
        """
        self.carry_out(
            self.groups.topics_deleted(self.groups.committed_topics().difference(self._topics()))
        )


def replay_group_batch(
    groups: GroupShard | GroupsImage, header: BatchHeader, records: Sequence[StoredRecord]
) -> None:
    """Replay a batch of `__consumer_offsets`. Raises `CorruptRecord`."""
    if header.is_control:
        _replay_markers(groups, header, records)
        return
    producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
    for record in records:
        if record.key is not None:
            groups.replay(record.key, record.value, producer_id)


def _replay_markers(
    groups: GroupShard | GroupsImage, header: BatchHeader, records: Sequence[StoredRecord]
) -> None:
    for record in records:
        try:
            control = parse_control_record(record)
        except CorruptBatch as error:
            raise CorruptRecord(f"the marker at offset {record.offset}: {error}") from error
        if control.coordinator_epoch is not None:
            is_commit = control.type == ControlType.COMMIT
            groups.replay_end(header.producer_id, is_commit=is_commit)

"""The share partitions of one partition of `__share_group_state`, while this node leads it.

The topic is not compacted: an update does not replace the one before it. What is older than the
last snapshot of every share partition is deleted, and share partitions that have not changed for
long get a new snapshot, so that the log stays short.
"""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Collection, Sequence

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.decision import CoordinatorRecord, Reply
from barnabas.records.batch import BatchHeader
from barnabas.records.record import Record as StoredRecord
from barnabas.share.state import (
    SharePartitionKey,
    ShareStateDecision,
    ShareStateShard,
    ShareStatesImage,
)
from barnabas.share.state.records import decode_key
from barnabas.wire.errors import ErrorCode

_PRUNE_EVERY_S = 60.0
_PRUNE_RECORDS = 10_000
"""Records that must be superfluous before they are deleted."""
_LONG_AGO_RECORDS = 100_000
"""A snapshot this far back is written again."""
_SNAPSHOTS_AT_ONCE = 100

Prune = Callable[[LeaderPartition, int], None]


class ShareCoordinatorShard(CoordinatorShard[ShareStateDecision]):
    def __init__(
        self,
        partition: LeaderPartition,
        states: ShareStateShard,
        loop: AbstractEventLoop,
        clock: Clock,
        commit_timeout_ms: int,
        prune: Prune,
    ) -> None:
        super().__init__(partition, loop, clock, commit_timeout_ms)
        self.states = states
        self._delete_before = prune
        self._snapshot_offsets: dict[SharePartitionKey, int] = {}
        """Where the last snapshot of each share partition is, or a little before it."""
        self._pruning: TimerHandle | None = None

    def time_ms(self) -> int:
        """The wall clock, for stored timestamps."""
        return self._clock.now_ms()

    # -- life cycle --------------------------------------------------------------------------------

    @property
    def image(self) -> ShareStatesImage:
        return self.states.image

    def replay(self, header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Raises `CorruptRecord`."""
        replay_share_batch(self.states, header, records)
        for record in records:
            if record.key is not None and not header.is_control:
                self._saw(record.key, record.value, record.offset)

    def _saw(self, key: bytes, value: bytes | None, offset: int) -> None:
        decoded = decode_key(key)
        if decoded is not None and decoded[1]:
            if value is None:
                self._snapshot_offsets.pop(decoded[0], None)
            else:
                self._snapshot_offsets[decoded[0]] = offset

    def _loaded(self) -> None:
        self._pruning = self._loop.call_later(_PRUNE_EVERY_S, self._prune)

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        del error
        if self._pruning is not None:
            self._pruning.cancel()
        self._snapshot_offsets.clear()
        self.states.unload()
        return []

    def _committed(self, decision: ShareStateDecision) -> ShareStateDecision:
        records: Sequence[CoordinatorRecord] = decision.records
        for key, value in records:
            self._saw(key, value, self.replayed_offset)
        return self.states.committed(decision)

    def _failed(self, decision: ShareStateDecision, error: ErrorCode) -> ShareStateDecision:
        return self.states.failed(decision, error)

    def _tick(self) -> ShareStateDecision:
        return ShareStateDecision()

    def _next_deadline_ms(self) -> int | None:
        return None

    # -- upkeep ------------------------------------------------------------------------------------

    def topics_deleted(self, topic_ids: Collection[bytes]) -> None:
        if self.error is ErrorCode.NONE:
            self.carry_out(self.states.topics_deleted(topic_ids))

    def _prune(self) -> None:
        """Delete records that nothing depends on."""
        if not self.leads:
            return
        self._pruning = self._loop.call_later(_PRUNE_EVERY_S, self._prune)
        end_offset = self.replayed_offset
        needed = min(self._snapshot_offsets.values(), default=end_offset)
        if needed - self.partition.log.log_start_offset >= _PRUNE_RECORDS:
            self._delete_before(self.partition, needed)
        long_ago = [
            key
            for key, offset in self._snapshot_offsets.items()
            if end_offset - offset >= _LONG_AGO_RECORDS
        ]
        if long_ago:
            self.carry_out(
                self.states.snapshot(long_ago[:_SNAPSHOTS_AT_ONCE], time_ms=self.time_ms())
            )


def replay_share_batch(
    states: ShareStateShard | ShareStatesImage,
    header: BatchHeader,
    records: Sequence[StoredRecord],
) -> None:
    """Replay a batch of `__share_group_state`. Raises `CorruptRecord`."""
    if header.is_control:
        return
    for record in records:
        if record.key is not None:
            states.replay(record.key, record.value)

"""One share partition's stored state, and how updates change it."""

from base64 import urlsafe_b64encode
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from barnabas.share.record_state import RecordState
from barnabas.share.state_write import NO_START_OFFSET, StateBatch

NO_EPOCH = -1
NO_COUNT = -1
_MAX_BATCHES = 5_000
"""Above this, a state no longer says which of its records were accepted and which archived."""


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: bytes
    partition: int


def coordinator_key(key: SharePartitionKey) -> str:
    """The key that is hashed to find the coordinator, and that FindCoordinator takes."""
    topic_id = urlsafe_b64encode(key.topic_id).decode().rstrip("=")
    return f"{key.group_id}:{topic_id}:{key.partition}"


@dataclass(frozen=True, slots=True)
class ShareState:
    snapshot_epoch: int = 0
    state_epoch: int = 0
    """Grows when an operator changes the start offset; fences writes from before that."""
    leader_epoch: int = 0
    """That of the leader that last read or wrote; fences earlier leaders."""
    start_offset: int = NO_START_OFFSET
    delivery_complete_count: int = NO_COUNT
    create_timestamp_ms: int = 0
    write_timestamp_ms: int = 0
    batches: tuple[StateBatch, ...] = ()
    """In the order of their offsets, without overlaps, from the start offset on."""
    update_count: int = 0
    """Updates since the snapshot."""

    def updated(
        self,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> "ShareState":
        """The state after an update. -1 leaves a value as it is."""
        start_offset = max(self.start_offset, start_offset)
        return replace(
            self,
            leader_epoch=self.leader_epoch if leader_epoch < 0 else leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=self.delivery_complete_count
            if delivery_complete_count < 0
            else delivery_complete_count,
            batches=combine(self.batches, batches, start_offset),
            update_count=self.update_count + 1,
        )


def combine(
    stored: Sequence[StateBatch], changes: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """The batches with all changes; a later change of a record replaces an earlier one."""
    batches = list(stored)
    for change in changes:
        _overlay(batches, change)
    return _merged(batch for batch in batches if batch.last >= start_offset)


def _overlay(batches: list[StateBatch], change: StateBatch) -> None:
    """Put a change into the batches. A record that is done with stays so: its delayed release must
    not bring it back. Nor does a delayed release take back a delivery that was counted since."""
    first, last = change.first, change.last
    begin = bisect_left(batches, (first,))
    if begin and batches[begin - 1].last >= first:
        begin -= 1
    end = begin
    is_release = not change.state.is_terminal
    kept: list[StateBatch] = []
    while end < len(batches) and batches[end].first <= last:
        batch = batches[end]
        end += 1
        if is_release and (batch.state.is_terminal or batch.delivery_count > change.delivery_count):
            if first < batch.first:
                kept.append(change._replace(first=first, last=batch.first - 1))
            kept.append(batch)
            first = batch.last + 1
            continue
        if batch.first < first:
            kept.append(batch._replace(last=first - 1))
        if batch.last > last:
            if first <= last:
                kept.append(change._replace(first=first))
            kept.append(batch._replace(first=last + 1))
            first = last + 1
    if first <= last:
        kept.append(change._replace(first=first))
    batches[begin:end] = kept


def _merged(batches: Iterable[StateBatch]) -> tuple[StateBatch, ...]:
    merged: list[StateBatch] = []
    for batch in batches:
        if merged:
            before = merged[-1]
            if before.last + 1 == batch.first and before[2:] == batch[2:]:
                merged[-1] = before._replace(last=batch.last)
                continue
        merged.append(batch)
    return tuple(merged if len(merged) <= _MAX_BATCHES else _coarse(merged))


def _coarse(batches: list[StateBatch]) -> list[StateBatch]:
    """Records that are done with, in fewer batches: nothing depends on how and how often they were
    delivered."""
    coarse: list[StateBatch] = []
    for batch in batches:
        if batch.state.is_terminal:
            if coarse and coarse[-1].state.is_terminal and coarse[-1].last + 1 == batch.first:
                coarse[-1] = coarse[-1]._replace(last=batch.last)
                continue
            batch = StateBatch(batch.first, batch.last, RecordState.ARCHIVED, 1)
        coarse.append(batch)
    return coarse

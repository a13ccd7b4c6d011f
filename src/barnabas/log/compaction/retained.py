"""What compaction retains of a batch.

Records are retained if they are the last ones of their key, as far as the key map reaches, and no
aborted transaction wrote them. Records without a key are removed. The first pass over a tombstone
sets the time of its removal, `delete.retention.ms` later, so that a consumer that reads the topic
from its start within that time sees the deletion.

Neither a tombstone nor a marker is removed before all followers that live have it: see
`LeaderState.must_start_over`.

A marker is retained as long as anything of its transaction is, and then for the same time: a
consumer that has read a part of a transaction must find its end.

The batches that the producer table remembers are retained, if necessary without their records. They
have the sequences by which a retry is recognized and from which the producer continues, in case the
snapshots are lost, or for a replica that has nothing but its copy. If only a marker is left, it has
the epoch, and is retained for that.

A batch that can't be decoded is retained as it is: `barnabas log repair` is for that.
"""

from typing import TYPE_CHECKING

from barnabas.log.compaction.key_map import KeyMap
from barnabas.log.compaction.raw_records import (
    Batch,
    emptied,
    filtered,
    read_records,
    with_horizon,
)
from barnabas.log.compaction.transactions import AbortedRanges
from barnabas.log.segment.scan import ScannedBatch
from barnabas.log.segment.unreadable_batch import UnreadableBatch
from barnabas.records.batch import BatchHeader

if TYPE_CHECKING:
    from barnabas.log.compaction.job import CompactionJob

_RETRY_MS = 60_000


class Retained:
    """Decides about batches, which have to be passed in order, from the log's start on."""

    def __init__(
        self, job: "CompactionJob", latest: KeyMap, end_offset: int, aborted: AbortedRanges
    ) -> None:
        """`latest` has the keys of all records below `end_offset` that were not compacted yet."""
        self._producers = job.producers
        self._now_ms = job.now_ms
        self._horizon_ms = job.now_ms + job.config.delete_retention_ms
        self._latest = latest
        self._end_offset = end_offset
        self._aborted = aborted
        self._removable_upto = job.removable_upto
        self._retry_ms = job.now_ms + max(_RETRY_MS, job.config.delete_retention_ms // 10)
        """When to look again at what could be removed if no replica lacked it."""
        self._unended: set[int] = set()
        """Producers with retained records of the transaction that is open at this point."""
        self.last_horizon_ms = -1
        """The latest time at which a retained tombstone or marker may be removed."""
        self.deletions_upto = 0
        """Behind the last tombstone or marker that was removed."""

    def of(self, batch: ScannedBatch) -> Batch | None:
        """What is retained of a batch: its own `data` if that is all; None if it is nothing."""
        header = batch.header
        if header.is_control:
            return self._of_control(batch)
        kept = self._of_records(batch)
        if kept is None and self._is_remembered(header):
            kept = emptied(header) if header.record_count else (header, batch.data)
        if kept is not None and header.is_transactional:
            self._unended.add(header.producer_id)
        return kept

    def _of_records(self, batch: ScannedBatch) -> Batch | None:
        header = batch.header
        if self._aborted.has(header):
            return None
        if header.base_offset >= self._end_offset:
            return header, batch.data
        try:
            payload, records = read_records(batch)
        except UnreadableBatch:
            return header, batch.data
        horizon_ms = header.delete_horizon_ms
        is_over = horizon_ms is not None and horizon_ms <= self._now_ms
        kept = self._latest.unreplaced(records, header.base_offset)
        if is_over and any(record[5] for record in kept) and self._removes(header):
            kept = [record for record in kept if not record[5]]
        if not kept:
            return None
        if any(record[5] for record in kept):
            self._awaits(horizon_ms)
            if horizon_ms is None:
                return with_horizon(header, payload, kept, self._horizon_ms)
        if len(kept) == len(records):
            return header, batch.data
        return filtered(header, payload, kept)

    def _of_control(self, batch: ScannedBatch) -> Batch | None:
        header = batch.header
        if not header.is_transactional:
            return header, batch.data
        if header.producer_id in self._unended:
            self._unended.discard(header.producer_id)
            return header, batch.data
        horizon_ms = header.delete_horizon_ms
        if horizon_ms is None:
            try:
                payload, records = read_records(batch)
            except UnreadableBatch:
                return header, batch.data
            self._awaits(None)
            return with_horizon(header, payload, records, self._horizon_ms)
        if horizon_ms > self._now_ms:
            self._awaits(horizon_ms)
            return header, batch.data
        if self._is_remembered(header):
            return header, batch.data
        if self._removes(header):
            return None
        self._awaits(horizon_ms)
        return header, batch.data

    def _removes(self, header: BatchHeader) -> bool:
        """Whether tombstones or a marker whose time is over are removed now."""
        if header.next_offset > self._removable_upto:
            return False
        self.deletions_upto = max(self.deletions_upto, header.next_offset)
        return True

    def _awaits(self, horizon_ms: int | None) -> None:
        until_ms = self._horizon_ms if horizon_ms is None else horizon_ms
        if until_ms <= self._now_ms:
            until_ms = self._retry_ms
        self.last_horizon_ms = max(self.last_horizon_ms, until_ms)

    def _is_remembered(self, header: BatchHeader) -> bool:
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return False
        if producer.last_offsets:
            return header.last_offset in producer.last_offsets
        return header.is_control and header.producer_epoch == producer.epoch

"""One partition on disk: an endless run of record batches in segment files.

Invariants:
- Offsets only grow, `log_start_offset <= log_end_offset`, and the last segment is the one that is
  written to.
- What a reader gets is what was appended, byte for byte, in whole batches.
- An append takes effect as a whole or not at all. Bytes that a failed write left behind the end of
  the segment are invisible, and are cut off before anything is written there again.
- Only one thread calls a log. Jobs that it hands out may run on another; they touch no state of
  the log until they are given back to it.

No file is opened, and for a new log none is made, before the first append or read.
"""

from collections.abc import Iterable

from barnabas.log.append import AppendInfo, Batches, assign_offsets
from barnabas.log.compaction import (
    CompactionJob,
    CompactionLimits,
    CompactionResult,
    Progress,
    Source,
    Swap,
    last_of_producers,
    must_roll,
    plan,
)
from barnabas.log.config import LogConfig
from barnabas.log.deletion import DeleteJob, SegmentInfo
from barnabas.log.errors import OffsetOutOfRange, StorageError, storage_errors
from barnabas.log.flush import FlushJob, flush_job
from barnabas.log.handles import OpenFiles
from barnabas.log.lookup import TimestampOffset, first_at_or_after
from barnabas.log.producers import ProducerTable
from barnabas.log.recovery import Recovered, recover
from barnabas.log.retention import expired_segments
from barnabas.log.segment import MAX_OFFSETS, Segment
from barnabas.log.snapshots import Snapshots
from barnabas.log.state import LogState, SegmentState, write_state
from barnabas.log.storage import Disk
from barnabas.log.transaction_index import AbortedTransaction
from barnabas.log.transactions import end_marker
from barnabas.records.batch import CONTROL, BatchHeader
from barnabas.records.errors import CorruptBatch
from barnabas.wire.errors import ErrorCode

_EMPTY = memoryview(b"")


class Log:
    """One partition. Make it with `Log.open`."""

    __slots__ = (
        "_active",
        "_checkpointed",
        "_compaction",
        "_epochs",
        "_failure",
        "_files",
        "_flushing",
        "_names_synced",
        "_oldest_unflushed_ms",
        "_opened_ms",
        "_prepared_offset",
        "_producers",
        "_segments",
        "_snapshots",
        "_torn",
        "committed_offset",
        "config",
        "directory",
        "flushed_offset",
        "log_end_offset",
        "log_start_offset",
        "recovery",
    )

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        config: LogConfig,
        now_ms: int,
        recovered: Recovered,
    ) -> None:
        self.config = config
        self.directory = directory
        self.recovery = recovered.report
        self.log_start_offset = recovered.log_start_offset
        self._segments = recovered.segments
        self._active = recovered.segments[-1] if recovered.segments else None
        self.log_end_offset = (
            self._active.next_offset if self._active else recovered.log_start_offset
        )
        self.flushed_offset = recovered.synced_offset
        self.committed_offset = recovered.committed_offset
        """The high watermark, as far as whoever keeps the log has said; it is kept for later."""
        self._epochs = recovered.epochs
        self._snapshots = Snapshots(files.disk, directory, recovered.snapshots)
        self._producers: ProducerTable | None = None
        """None until it is needed."""
        self._files = files
        self._checkpointed = None if recovered.report else self._extent()
        """What the log extended over when its state was written; None if it is to be written."""
        self._compaction = recovered.compaction
        self._opened_ms = now_ms
        self._prepared_offset = recovered.synced_offset
        """Everything below is flushed, or is being flushed."""
        self._oldest_unflushed_ms = now_ms
        self._flushing: FlushJob | None = None
        self._names_synced = bool(recovered.segments) and recovered.report is None
        self._torn = False
        """A failed append could not be cut off yet."""
        self._failure: str | None = None
        """Why nothing can be appended until the log is opened again."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        config: LogConfig,
        now_ms: int,
        *,
        files: OpenFiles | None = None,
    ) -> "Log":
        """Open a partition's directory, making it if it is new and repairing it if it must be."""
        if files is None:
            files = OpenFiles(disk)
        with storage_errors(f"can not open {directory}"):
            if not disk.exists(directory):
                disk.make_directory(directory)
            recovered = recover(files, directory, config.index_interval_bytes, now_ms)
        log = cls(files, directory, config, now_ms, recovered)
        if any(segment.aborted.is_lost for segment in recovered.segments):
            log._load_producers()
        return log

    # Appending

    def append(
        self, buffer: memoryview, batches: Batches, leader_epoch: int, now_ms: int
    ) -> AppendInfo:
        """Give the batches in `buffer` their offsets, in place, and store it with one write.

        `buffer` is writable and holds exactly the batches, checked already. StorageError means
        that nothing was stored.
        """
        if self._torn or self._failure is not None:
            self._mend()
        producers = self._producers
        if producers is None:
            producers = self._load_producers()
        append_time = now_ms if self.config.is_log_append_time else -1
        newest = batches[-1][1].max_timestamp if append_time < 0 else append_time
        segment = self._active
        if segment is None or segment.must_roll(len(buffer), newest, self.config, now_ms):
            segment = self._roll(now_ms)
        base_offset = self.log_end_offset
        end_offset = assign_offsets(buffer, batches, base_offset, leader_epoch, append_time)
        position = segment.size
        try:
            segment.log.file().write(buffer, position)
        except OSError as error:
            self._cut_back(segment)
            raise StorageError(f"can not append to {segment.log.path}: {error}") from error

        if leader_epoch > self._epochs.latest:
            self._epochs.assign(leader_epoch, base_offset)
        if base_offset == self._prepared_offset:
            self._oldest_unflushed_ms = now_ms
        batch_offset = base_offset
        for at, header in batches:
            timestamp = header.max_timestamp if append_time < 0 else append_time
            segment.note(position + at, header, batch_offset, timestamp)
            if header.producer_id >= 0:
                if header.attributes & CONTROL:
                    self._end_transaction(buffer, at, header, batch_offset, now_ms)
                else:
                    producers.update(header, batch_offset, append_time, now_ms)
            batch_offset += header.last_offset_delta + 1
        self.log_end_offset = end_offset
        return AppendInfo(base_offset, end_offset - 1, append_time, self.log_start_offset)

    def append_as_follower(self, buffer: memoryview, batches: Batches, now_ms: int) -> None:
        """Store what the leader has, with the leader's offsets and epochs.

        `buffer` holds exactly the batches, as `checked_batches` gives them; between them offsets
        may be missing. StorageError means that nothing was stored, or only whole batches from the
        front; CorruptBatch, that they do not fit behind what is there.
        """
        if self._torn or self._failure is not None:
            self._mend()
        first, last = batches[0][1], batches[-1][1]
        if first.base_offset < self.log_end_offset:
            self._begin_inside(first)
        is_far = last.next_offset - self.log_end_offset > MAX_OFFSETS
        if len(batches) > 1 and (is_far or len(buffer) > self.config.segment_bytes):
            for at, header in batches:
                self.append_as_follower(buffer[at : at + header.size], [(0, header)], now_ms)
            return
        segment = self._active
        if (
            segment is None
            or segment.must_roll(len(buffer), last.max_timestamp, self.config, now_ms)
            or not segment.reaches(last.next_offset)
        ):
            segment = self._roll(now_ms, first.base_offset if is_far else None)
        self._write_fetched(segment, buffer, batches, now_ms)

    def _begin_inside(self, first: BatchHeader) -> None:
        """The leader's log may start in the middle of a batch; a follower's then does as well."""
        start = self.log_start_offset
        if start != self.log_end_offset or first.next_offset <= start:
            raise CorruptBatch(f"offset {first.base_offset} is in {self.directory} already")
        self.truncate_fully_and_start_at(first.base_offset)
        self.log_start_offset = start

    def _write_fetched(
        self, segment: Segment, buffer: memoryview, batches: Batches, now_ms: int
    ) -> None:
        producers = self._load_producers()
        position = segment.size
        try:
            segment.log.file().write(buffer, position)
        except OSError as error:
            self._cut_back(segment)
            raise StorageError(f"can not append to {segment.log.path}: {error}") from error
        if self.log_end_offset == self._prepared_offset:
            self._oldest_unflushed_ms = now_ms
        for at, header in batches:
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
            segment.note(position + at, header, header.base_offset, header.max_timestamp)
            if header.producer_id >= 0:
                if header.attributes & CONTROL:
                    self._end_transaction(buffer, at, header, header.base_offset, now_ms)
                else:
                    append_time = header.max_timestamp if header.is_log_append_time else -1
                    producers.update(header, header.base_offset, append_time, now_ms)
        self.log_end_offset = segment.next_offset

    def _roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Begin a new segment, at the log's end or behind. A later flush syncs the old one."""
        producers = self._load_producers()
        end = self.log_end_offset
        segment = Segment(
            self._files,
            self.directory,
            end if base_offset is None else base_offset,
            self.config.index_interval_bytes,
            now_ms,
        )
        with storage_errors(f"can not begin {segment.log.path}"):
            segment.log.create().truncate(0)
        if self._active is not None:
            self._active.spill_indexes()
            self._snapshots.write(end, producers)
        self._segments.append(segment)
        self._active = segment
        self._names_synced = False
        return segment

    def _cut_back(self, segment: Segment) -> None:
        try:
            segment.cut_back()
            self._torn = False
        except OSError:
            self._torn = True

    def _mend(self) -> None:
        if self._failure is not None:
            raise StorageError(self._failure)
        assert self._active is not None
        self._cut_back(self._active)
        if self._torn:
            raise StorageError(f"{self._active.log.path} has a torn end that can not be cut off")

    # Producers

    def find_duplicate(self, header: BatchHeader) -> AppendInfo | None:
        """The answer that this very batch got when it was stored before, or None if it is new."""
        if header.producer_id < 0 or header.base_sequence < 0:
            return None
        batch = self._load_producers().find_duplicate(header)
        if batch is None:
            return None
        return AppendInfo(
            batch.base_offset, batch.last_offset, batch.timestamp, self.log_start_offset
        )

    def sequence_error(self, header: BatchHeader) -> ErrorCode:
        """Why a batch that repeats none may not follow what its producer has stored."""
        return self._load_producers().sequence_error(header)

    def expire_producers(self, now_ms: int) -> None:
        """Forget producers that were idle for `producer_id_expiration_ms`."""
        if self._producers is not None:
            self._producers.expire(now_ms, self.config.producer_id_expiration_ms)

    def _load_producers(self) -> ProducerTable:
        """The newest snapshot, and every batch behind it, read when first needed."""
        if self._producers is None:
            with storage_errors(f"can not read {self.directory}"):
                self._producers = self._snapshots.load(
                    self._segments, self._opened_ms, self.committed_offset
                )
        return self._producers

    @property
    def producers(self) -> ProducerTable:
        """All that is known of producers. Raises `StorageError` if the disk hides it."""
        return self._load_producers()

    # Transactions

    def _end_transaction(
        self, buffer: memoryview, at: int, header: BatchHeader, offset: int, now_ms: int
    ) -> None:
        """A control batch of a producer was stored in the active segment."""
        marker = end_marker(buffer[at : at + header.size])
        if marker is not None and self._active is not None:
            aborted = self._load_producers().end(
                header, marker, offset, now_ms, self.committed_offset
            )
            if aborted is not None:
                self._active.aborted.add(aborted)

    def ongoing_transaction(
        self, producer_id: int, producer_epoch: int | None = None
    ) -> int | None:
        """The first offset of the transaction that a producer, of this epoch, has going on here."""
        return self._load_producers().ongoing_transaction(producer_id, producer_epoch)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that goes on, or whose marker is not committed."""
        producers = self._producers
        if producers is None:
            try:
                producers = self._load_producers()
            except StorageError:
                return self.log_start_offset  # nothing is known to be stable
        if not producers.transactions:
            return None
        offset = producers.transactions.first_unstable_offset(self.committed_offset)
        return None if offset is None else max(offset, self.log_start_offset)

    @property
    def has_aborted_transactions(self) -> bool:
        return any(segment.aborted for segment in self._segments)

    def aborted_transactions(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The transactions with records in [offset, end_offset) that were aborted.

        In the order in which they were. There may be some among them that have no records there.
        """
        with storage_errors(f"can not read {self.directory}"):
            return self._segments.aborted_transactions(offset, end_offset)

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upto_offset: int | None = None,
        min_one: bool = True,
    ) -> memoryview:
        """Whole batches exactly as stored, from the one that holds `offset` on, of one segment.

        At most `max_bytes`, except that with `min_one` the first batch comes whole in any case.
        Nothing at or behind `upto_offset`, which is a boundary between batches.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise OffsetOutOfRange(offset, self.log_start_offset, end)
        if upto_offset is None or upto_offset > end:
            upto_offset = end
        segment = self._active
        if segment is None:
            return _EMPTY
        if offset >= upto_offset:
            if offset == end:
                segment.hint(end, segment.size)
            return _EMPTY
        try:
            if offset < segment.base_offset:
                segment = self._segments.with_offset(offset)
            return segment.read(offset, max_bytes, upto_offset, min_one=min_one)
        except OSError as error:
            raise StorageError(f"can not read {segment.log.path}: {error}") from error

    def expect_reader(self) -> None:
        """A reader waits at the end: remember its place, so that its read needs no search."""
        if self._active is not None:
            self._active.hint(self.log_end_offset, self._active.size)

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches from `offset` up to `end_offset`, both batch boundaries."""
        with storage_errors(f"can not read {self.directory}"):
            return self._segments.bytes_between(offset, end_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record with this timestamp or a later one."""
        with storage_errors(f"can not read {self.directory}"):
            return first_at_or_after(self._segments, timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first of the records with the largest timestamp."""
        largest = max((segment.max_timestamp for segment in self._segments), default=-1)
        return None if largest < 0 else self.offset_for_timestamp(largest)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def segments(self) -> list[SegmentInfo]:
        return [SegmentInfo.of(segment) for segment in self._segments]

    # Leader epochs

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; -1 if there is none."""
        return self._epochs.epoch_for(self.log_end_offset - 1)

    def begin_epoch(self, epoch: int) -> None:
        """This replica leads from here on, and what it appends will be of `epoch`."""
        self._epochs.assign(epoch, self.log_end_offset)

    def leader_epoch_for(self, offset: int) -> int:
        return self._epochs.epoch_for(offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """What OffsetForLeaderEpoch answers: (epoch, end offset), (-1, -1) if it is unknown."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    # Flushing

    @property
    def flush_required(self) -> bool:
        """Records are to be shown to consumers only below `flushed_offset`."""
        return self.config.flushes_by_count or self.config.flushes_by_age

    @property
    def flush_deadline_ms(self) -> int | None:
        """When the next flush is due, 0 for at once, None if there is nothing that must be.

        What a flush under way covers does not count.
        """
        config, prepared = self.config, self._prepared_offset
        unflushed = self.log_end_offset - prepared
        active = self._active
        if self._failure is not None or active is None or unflushed <= 0:
            return None
        if prepared < active.base_offset:
            return 0
        if config.flushes_by_count and unflushed >= config.flush_messages:
            return 0
        return self._oldest_unflushed_ms + config.flush_ms if config.flushes_by_age else None

    def flush_due(self, now_ms: int) -> bool:
        deadline_ms = self.flush_deadline_ms
        return deadline_ms is not None and deadline_ms <= now_ms

    def prepare_flush(self, *, everything: bool = False) -> FlushJob | None:
        """The job that syncs what is not synced yet; None if there is nothing, or one is under way.

        Without flush settings only finished segments are synced, unless `everything` is asked for.
        """
        active = self._active
        if self._flushing is not None or self._failure is not None or active is None:
            return None
        end = self.log_end_offset
        if not (everything or self.flush_required):
            end = active.base_offset
        if end <= self.flushed_offset:
            return None
        directories = []
        if not self._names_synced:
            directories = [self.directory, self.directory.rpartition("/")[0] or "/"]
        with storage_errors(f"can not flush {self.directory}"):
            job = flush_job(self._files.disk, self._segments, self.flushed_offset, end, directories)
        self._names_synced = True
        self._prepared_offset = end
        self._flushing = job
        return job

    def flush(self) -> None:
        """Sync everything, here and now. StorageError if the disk fails to."""
        job = self.prepare_flush(everything=True)
        if job is not None:
            job.run()
            self.complete_flush(job)

    def complete_flush(self, job: FlushJob) -> None:
        """Take back a job that has run. StorageError if the disk failed to sync.

        After a failed sync nobody knows what is on the disk, and asking again may get a wrong yes.
        So the log then takes no more appends until it is opened, and thereby checked, again.
        """
        is_current, self._flushing = job is self._flushing, None
        if job.error is not None:
            self._failure = f"{self.directory} could not be synced: {job.error}"
            raise StorageError(self._failure) from job.error
        if is_current:  # else truncation has taken away what was synced
            self.flushed_offset = job.end_offset
            if self._active is not None and self._active.base_offset < job.end_offset:
                self._active.hint(job.end_offset, job.end_position)

    # Removing

    def apply_retention(self, now_ms: int, *, upto_offset: int | None = None) -> DeleteJob | None:
        """Delete the segments that `retention_ms` and `retention_bytes` no longer keep.

        None at or behind `upto_offset`, the high watermark. The active segment goes too when all
        of it is too old; then an empty one is begun before.
        """
        if "delete" not in self.config.cleanup_policy:
            return None
        if upto_offset is None:
            upto_offset = self.log_end_offset
        with storage_errors(f"can not apply retention to {self.directory}"):
            expired = expired_segments(
                self._segments, self.config, now_ms, upto_offset, self._files.disk
            )
        return self._delete_oldest(len(expired), now_ms)

    def delete_records_before(self, offset: int) -> DeleteJob | None:
        """Make `offset` the first one; segments wholly below it are deleted."""
        if not 0 <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return None
        previous, self.log_start_offset = self.log_start_offset, offset
        try:
            self.checkpoint()
        except StorageError:
            self.log_start_offset = previous
            raise
        below = sum(segment.next_offset <= offset for segment in self._segments[:-1])
        return self._delete_oldest(below, self._opened_ms)

    def _delete_oldest(self, count: int, now_ms: int) -> DeleteJob | None:
        if count == 0:
            return None
        if count == len(self._segments):
            # The new segment's name keeps the log's end while nothing else is there.
            self._roll(now_ms)
        try:
            with storage_errors(f"can not remove segments of {self.directory}"):
                return self._segments.remove_oldest(count, self._files)
        finally:
            self.log_start_offset = max(self.log_start_offset, self._segments[0].base_offset)
            self._epochs.truncate_before(self.log_start_offset)
            self._snapshots.drop_below(self.log_start_offset)

    # Compacting

    def compaction_urgency(self, now_ms: int, *, upto_offset: int | None = None) -> float:
        """How much of the log is to be compacted, OVERDUE if it must be; 0 if it is not due.

        Nothing behind `upto_offset`, the high watermark, counts.
        """
        with storage_errors(f"can not read {self.directory}"):
            planned = plan(
                self._segments, self.config, self._compaction, now_ms, self._stable(upto_offset)
            )
        return 0.0 if planned is None else planned.urgency

    def roll_for_compaction(self, now_ms: int) -> None:
        """Finish the active segment if its records must not wait longer than they have."""
        if self._torn or self._failure is not None:
            return  # what stands behind its end is still to be cut off
        if self._active is not None and must_roll(self._active, self.config, now_ms):
            self._roll(now_ms)

    def plan_compaction(
        self,
        now_ms: int,
        *,
        upto_offset: int | None = None,
        limits: CompactionLimits | None = None,
    ) -> CompactionJob | None:
        """The job that compacts finished segments; None if the log is not due for it.

        None that reaches behind `upto_offset`, the high watermark. Run `compact` with it, where
        and as long as you like, and bring the result to `begin_swap`.
        """
        with storage_errors(f"can not read {self.directory}"):
            planned = plan(
                self._segments, self.config, self._compaction, now_ms, self._stable(upto_offset)
            )
        if planned is None:
            return None
        sources = planned.sources
        return CompactionJob(
            self.directory,
            sources,
            planned.dirty_offset,
            self.config,
            now_ms,
            self._compaction.truncations,
            last_of_producers(self.producers),
            self.aborted_transactions(sources[0].base_offset, sources[-1].next_offset),
            limits or CompactionLimits(),
        )

    def _stable(self, upto_offset: int | None) -> int:
        """What is above may go again, or belongs to a transaction that may still be aborted."""
        ends = upto_offset, self.first_unstable_offset, self.log_end_offset
        return min(end for end in ends if end is not None)

    def begin_swap(self, job: CompactionJob, result: CompactionResult) -> Swap:
        """The way in for what a job has made. StorageError if it failed; the log is as it was.

        The caller goes `step` by `step`, with a `settle` after each, and comes to `end_swap`.
        """
        present = {segment.base_offset for segment in self._segments}
        if result.error is not None and present.issuperset(s.base_offset for s in job.sources):
            raise StorageError(f"can not compact {self.directory}: {result.error}")
        return Swap(self._files, self._segments, self._compaction, job, result, self._unvouch)

    def _unvouch(self, sources: list[Source]) -> None:
        """The state must not vouch for what is replaced: the new segment may have the old size."""
        self._checkpointed = None
        self._write_state(self._synced_segments(), replaced=sources)

    def end_swap(self, swap: Swap) -> DeleteJob | None:
        """Everything is in its place, or what is not will not be: the rest is to be removed."""
        self._checkpointed = None
        swap.drop(self._snapshots.take_out_but({s.base_offset for s in self._segments}))
        return swap.end()

    def truncate_to(self, offset: int) -> None:
        """Cut the log so that it ends at `offset`, a boundary between batches, or earlier.

        A follower does that with what its new leader never had.
        """
        if offset >= self.log_end_offset:
            # It may have begun an epoch in which it then appended nothing.
            self._epochs.truncate_from(self.log_end_offset)
            return
        if not self._segments or offset < self._segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        self._compaction.truncated(offset)
        with storage_errors(f"can not truncate {self.directory}"):
            self._checkpointed = self._flushing = None
            self._segments.remove_from(offset, self._files)
            self._files.disk.sync_directory(self.directory)
            last = self._active = self._segments[-1]
            self.flushed_offset = min(self.flushed_offset, last.base_offset)
            self._prepared_offset = self.flushed_offset
            self._epochs.truncate_from(offset)
            # Now the state must not vouch for this segment, should it grow to its old size again.
            self._write_state(self._synced_segments(), sync=True)
            last.truncate(last.locate(offset))
            self._snapshots.drop_above(offset)
        self.log_end_offset = last.next_offset
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        self.committed_offset = min(self.committed_offset, self.log_end_offset)
        # Nobody says what time it is; what is replayed shall not count as heard of at the opening.
        if self._producers is not None:
            self._opened_ms = max(self._opened_ms, self._producers.last_append_ms)
        self._producers = self._checkpointed = None

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Give up everything and begin anew at `offset`: the leader has nothing that is before."""
        self._checkpointed = self._flushing = None
        with storage_errors(f"can not truncate {self.directory}"):
            # First the state, which then vouches for nothing: a crash leaves the old log, to be cut
            # again, or an empty one.
            state = LogState(offset, [], {}, offset, Progress())
            write_state(self._files.disk, self.directory, state, sync=True)
            for segment in self._segments:
                segment.close()
                for path in segment.paths():
                    self._files.disk.unlink(path)
            self._segments.clear()
            self._active = None
            self._snapshots.drop_above(-1)
            self._files.disk.sync_directory(self.directory)
        self.log_start_offset = self.log_end_offset = self.committed_offset = offset
        self.flushed_offset = self._prepared_offset = offset
        self._compaction.truncated(0)
        self._torn = False
        self._producers = ProducerTable()
        self._epochs.truncate_from(-1)

    # Remembering

    def _extent(self) -> tuple[int, ...]:
        synced = (segment.base_offset for segment in self._synced_segments())
        offsets = self.log_start_offset, self.committed_offset, self.flushed_offset
        return *offsets, self.log_end_offset, *synced

    def _synced_segments(self) -> list[Segment]:
        """The segments that are on the disk with their indexes, which the state may vouch for."""
        return [
            segment
            for segment in self._segments
            if segment.next_offset <= self.flushed_offset and segment.has_spilled_indexes
        ]

    def checkpoint(self) -> None:
        """Write `log.state`: log start offset, epochs, and the segments that are on the disk.

        Cheap for a log that has not changed: nothing is written.
        """
        if self._checkpointed == self._extent():
            return
        with storage_errors(f"can not write the state of {self.directory}"):
            self._write_state(self._synced_segments())
        self._checkpointed = self._extent()

    def _write_state(
        self, vouched: list[Segment], replaced: Iterable[Source] = (), *, sync: bool = False
    ) -> None:
        """`replaced` are on the disk, as are their successors, but are to be scanned."""
        segments = {segment.base_offset: SegmentState.of(segment) for segment in vouched}
        for source in replaced:
            segments[source.base_offset] = SegmentState.to_be_scanned(source.base_offset)
        state = LogState(
            self.log_start_offset,
            self._epochs.entries(),
            segments,
            self.committed_offset,
            self._compaction,
        )
        write_state(self._files.disk, self.directory, state, sync=sync)

    def close(self) -> None:
        """Sync everything and remember it, so that the next `open` has nothing to scan.

        Jobs must have been completed before. StorageError if the disk refuses: then the next open
        scans, as after a crash.
        """
        try:
            if self._torn or self._failure is not None:
                self._mend()
            for segment in self._segments:
                segment.spill_indexes()
            if self._producers is not None and self._segments:
                self._snapshots.write(self.log_end_offset, self._producers)
            self.flush()
            if self._segments:
                self.checkpoint()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the files and nothing else, as a crash would."""
        for segment in self._segments:
            segment.close()

"""Appending to a log, as a leader and as a follower.

An append takes effect as a whole or not at all. Bytes that a failed write left behind the end of
the segment are invisible, and are cut off before anything is written there again.
"""

from barnabas.log.errors import StorageError
from barnabas.log.flusher import LogFlusher
from barnabas.log.leader_epochs import EpochStarts
from barnabas.log.local_log import LocalLog
from barnabas.log.offset_assignment import AppendInfo, Batches, assign_offsets
from barnabas.log.producers.state import ProducerState
from barnabas.log.roller import SegmentRoller
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.log.state_file import StateFile
from barnabas.log.truncation import LogTruncation
from barnabas.records.batch import CONTROL, BatchHeader
from barnabas.records.errors import CorruptBatch


class Appender:
    """Writes batches to the active segment and tells the other parts of them."""

    __slots__ = ("_flusher", "_log", "_producers", "_roller", "_state_file", "_truncation")

    def __init__(
        self,
        log: LocalLog,
        producers: ProducerState,
        roller: SegmentRoller,
        flusher: LogFlusher,
        truncation: LogTruncation,
        state_file: StateFile,
    ) -> None:
        self._log = log
        self._producers = producers
        self._roller = roller
        self._flusher = flusher
        self._truncation = truncation
        self._state_file = state_file

    def append(
        self, buffer: memoryview, batches: Batches, leader_epoch: int, now_ms: int
    ) -> AppendInfo:
        """Assign offsets to the batches in `buffer`, in place, and store it with one write.

        `buffer` is writable and holds exactly the batches, which are validated. `StorageError`
        means that nothing was stored.
        """
        log = self._log
        if log.is_torn or log.failure is not None:
            log.require_appendable()
        producers = self._producers.loaded
        if producers is None:
            producers = self._producers.table
        append_time = now_ms if log.config.is_log_append_time else -1
        newest = batches[-1][1].max_timestamp if append_time < 0 else append_time
        segment = log.active
        if segment is None or segment.must_roll(len(buffer), newest, log.config, now_ms):
            segment = self._roller.roll(now_ms)
        base_offset = log.log_end_offset
        end_offset = assign_offsets(buffer, batches, base_offset, leader_epoch, append_time)
        position = segment.size
        try:
            segment.log.file().write(buffer, position)
        except OSError as error:
            log.cut_back(segment)
            raise StorageError(f"cannot append to {segment.log.path}: {error}") from error

        if leader_epoch > log.epochs.latest:
            log.epochs.assign(leader_epoch, base_offset)
        if base_offset == self._flusher.prepared_offset:
            self._flusher.oldest_unflushed_ms = now_ms
        batch_offset = base_offset
        for at, header in batches:
            timestamp = header.max_timestamp if append_time < 0 else append_time
            segment.note(position + at, header, batch_offset, timestamp)
            if header.producer_id >= 0:
                if header.attributes & CONTROL:
                    self._producers.end_transaction(buffer, at, header, batch_offset, now_ms)
                else:
                    producers.update(header, batch_offset, append_time, now_ms)
            batch_offset += header.last_offset_delta + 1
        log.log_end_offset = end_offset
        log.appended_bytes += len(buffer)
        return AppendInfo(base_offset, end_offset - 1, append_time, log.log_start_offset)

    def append_as_follower(
        self,
        buffer: memoryview,
        batches: Batches,
        now_ms: int,
        leader_epochs: EpochStarts = (),
    ) -> None:
        """Store the leader's batches with the leader's offsets and epochs.

        `leader_epochs` are those that the leader knows, with the offsets where they began: behind
        a gap the batches do not tell.

        `buffer` holds exactly the batches, as `checked_batches` returns them; between them offsets
        may be missing. `StorageError` means that nothing was stored, or only whole batches from
        the front; `CorruptBatch`, that the batches do not continue this log.
        """
        log = self._log
        if log.is_torn or log.failure is not None:
            log.require_appendable()
        first, last = batches[0][1], batches[-1][1]
        if first.base_offset < log.log_end_offset:
            self._start_inside(first)
        is_far = last.next_offset - log.log_end_offset > MAX_OFFSETS
        if len(batches) > 1 and (is_far or len(buffer) > log.config.segment_bytes):
            for at, header in batches:
                batch = buffer[at : at + header.size]
                self.append_as_follower(batch, [(0, header)], now_ms, leader_epochs)
            return
        segment = log.active
        if (
            segment is None
            or segment.must_roll(len(buffer), last.max_timestamp, log.config, now_ms)
            or not segment.reaches(last.next_offset)
        ):
            segment = self._roller.roll(now_ms, first.base_offset if is_far else None)
        self._write_fetched(segment, buffer, batches, now_ms, leader_epochs)

    def _start_inside(self, first: BatchHeader) -> None:
        """The leader's log may start in the middle of a batch; so does the follower's then."""
        log = self._log
        start = log.log_start_offset
        if start != log.log_end_offset or first.next_offset <= start:
            raise CorruptBatch(f"{log.directory} has offset {first.base_offset} already")
        self._truncation.truncate_fully_and_start_at(first.base_offset)
        log.log_start_offset = start
        try:
            # The mark in the directory names the batch: a kill would bring its first records back.
            self._state_file.checkpoint()
        except StorageError:
            log.log_start_offset = first.base_offset
            raise

    def _write_fetched(
        self,
        segment: Segment,
        buffer: memoryview,
        batches: Batches,
        now_ms: int,
        leader_epochs: EpochStarts,
    ) -> None:
        log = self._log
        producers = self._producers.table
        end_offset, latest_epoch = log.log_end_offset, log.epochs.latest
        has_gap = False
        was_complete = not log.compaction_progress.deletions_upto
        position = segment.size
        try:
            segment.log.file().write(buffer, position)
        except OSError as error:
            log.cut_back(segment)
            raise StorageError(f"cannot append to {segment.log.path}: {error}") from error
        if log.log_end_offset == self._flusher.prepared_offset:
            self._flusher.oldest_unflushed_ms = now_ms
        for at, header in batches:
            epoch = header.partition_leader_epoch
            if end_offset < header.base_offset or header.record_count <= header.last_offset_delta:
                # The leader has removed some of this, and maybe tombstones, even if the topic is
                # not compacted any more.
                log.compaction_progress.deletions_upto = header.next_offset
            if end_offset < header.base_offset and epoch > latest_epoch:
                has_gap = True
                log.epochs.assign_behind_gap(leader_epochs, end_offset, epoch, header.base_offset)
            else:
                log.epochs.assign(epoch, header.base_offset)
            end_offset, latest_epoch = header.next_offset, epoch
            segment.note(position + at, header, header.base_offset, header.max_timestamp)
            if header.producer_id >= 0:
                if header.attributes & CONTROL:
                    self._producers.end_transaction(buffer, at, header, header.base_offset, now_ms)
                else:
                    append_time = header.max_timestamp if header.is_log_append_time else -1
                    producers.update(header, header.base_offset, append_time, now_ms)
        log.log_end_offset = segment.next_offset
        log.appended_bytes += len(buffer)
        if has_gap or (was_complete and log.compaction_progress.deletions_upto):
            # A scan after a kill would not find where epochs began, or take a gap for damage.
            self._state_file.checkpoint()

    def begin_epoch(self, epoch: int) -> None:
        """This replica leads from here on, and appends with leader epoch `epoch`."""
        self._log.epochs.assign(epoch, self._log.log_end_offset)

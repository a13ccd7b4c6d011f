"""Appending to a log, as a leader does.

An append takes effect as a whole or not at all. Bytes that a failed write left behind the end of
the segment are invisible, and are cut off before anything is written there again.
"""

from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.offset_assignment import AppendInfo, Batches, assign_offsets
from barnabas.log.producers.transactions import end_marker
from barnabas.log.readable_log import ReadableLog
from barnabas.log.segment.segment import Segment
from barnabas.records.batch import CONTROL, BatchHeader


class AppendableLog(ReadableLog):
    __slots__ = ()

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

    def begin_epoch(self, epoch: int) -> None:
        """This replica leads from here on, and what it appends will be of `epoch`."""
        self._epochs.assign(epoch, self.log_end_offset)

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

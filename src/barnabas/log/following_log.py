"""Appending to a log what the leader's has, with its offsets and epochs."""

from barnabas.log.errors import StorageError
from barnabas.log.offset_assignment import Batches
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.log.shrinking_log import ShrinkingLog
from barnabas.records.batch import CONTROL, BatchHeader
from barnabas.records.errors import CorruptBatch


class FollowingLog(ShrinkingLog):
    __slots__ = ()

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

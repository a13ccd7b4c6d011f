"""What is done about records that damage has taken away; see `lost_ranges`."""

from barnabas.log.compaction.raw_records import Batch, rebuilt
from barnabas.log.errors import RecordsLost, storage_errors
from barnabas.log.following_log import FollowingLog
from barnabas.log.lost_ranges import LostRange
from barnabas.log.scrub import Scrubbed, ScrubJob
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.records.batch import MAGIC, NO_PRODUCER_ID, BatchHeader

_NO_TIMESTAMP = -1


class MendableLog(FollowingLog):
    __slots__ = ()

    def last_written_ms(self) -> list[tuple[int, int]]:
        """The base offset of each segment, and when it was last written to.

        Raises `StorageError`.
        """
        with storage_errors(f"can not look at {self.directory}"):
            return [
                (segment.base_offset, self._files.disk.modified_ms(segment.log.path))
                for segment in self._segments
                if segment.size
            ]

    def segment_with(self, offset: int) -> int:
        """The base offset of the segment that holds an offset, or would."""
        return self._segments.with_offset(offset).base_offset if self._segments else 0

    def scrub(self, base_offset: int) -> ScrubJob | None:
        """The job that looks through a segment, as far as it is written now; None if it is gone.

        Raises `StorageError`.
        """
        for segment in self._segments:
            if segment.base_offset == base_offset and segment.size:
                with storage_errors(f"can not open {segment.log.path}"):
                    return ScrubJob(segment, self._compaction.truncations)
        return None

    def is_still_there(self, scrubbed: Scrubbed) -> bool:
        """Whether a segment that was looked through is the one that the log has now."""
        if scrubbed.truncations != self._compaction.truncations:
            return False
        for segment in self._segments:
            if segment.base_offset == scrubbed.base_offset:
                has_grown = segment is self._active and segment.size > scrubbed.size
                return has_grown or (segment.size, segment.next_offset) == (
                    scrubbed.size,
                    scrubbed.next_offset,
                )
        return False

    def lose(self, start: int, end: int, reason: str) -> None:
        """Damage was found: from `start` up to `end` nothing may be read any more.

        Raises `StorageError`. The next opening looks into the segment, and takes the damage out.
        """
        self.lost_ranges.add(LostRange(start, min(end, self.log_end_offset), reason))
        self._unvouched |= {
            segment.base_offset
            for segment in self._segments
            if segment.base_offset < end and segment.next_offset > start
        }
        self._remember_loss()

    def lose_end(self, end: int, reason: str, now_ms: int) -> None:
        """The log had ended at `end`: it goes on there, as the offsets before are taken.

        Raises `StorageError`.
        """
        start = self.log_end_offset
        if end <= start:
            return
        if self._active is not None and self._active.size == 0:
            # An empty segment would be taken for the one that keeps the log's end.
            emptied = self._segments.pop()
            self._active = None
            with storage_errors(f"can not remove {emptied.log.path}"):
                emptied.close()
                for path in emptied.paths():
                    self._files.disk.unlink(path)
        self._roll(now_ms, end)
        self.log_end_offset = end
        self.lost_ranges.add(LostRange(start, end, reason))
        self._remember_loss()

    def accept_loss(self) -> list[LostRange]:
        """Put empty batches in the place of what is lost, so that readers pass over it.

        Returns what was lost. Raises `StorageError`.
        """
        accepted = list(self.lost_ranges)
        for lost in accepted:
            if any(s.base_offset < lost.start < s.next_offset for s in self._segments):
                raise RecordsLost(
                    f"{self.directory}: {lost} are inside of a segment; restart the broker, which "
                    "takes the damage out of it, and try again"
                )
        with storage_errors(f"can not write to {self.directory}"):
            for lost in accepted:
                self._fill(lost)
            self._files.disk.sync_directory(self.directory)
            self.lost_ranges.cut_at(-1)
            self._write_state(self._synced_segments(), sync=True)
        self._checkpointed = None
        return accepted

    def _fill(self, lost: LostRange) -> None:
        before = [s for s in self._segments if s.next_offset <= lost.start]
        if not before or not before[-1].reaches(lost.end):
            segment = Segment(
                self._files,
                self.directory,
                lost.start,
                self.config.index_interval_bytes,
                self._opened_ms,
            )
            segment.log.create().truncate(0)
            self._segments.insert(len(before), segment)
        else:
            segment = before[-1]
            self._unvouched.add(segment.base_offset)
            self._write_state(self._synced_segments(), sync=True)
        offset = lost.start
        while offset < lost.end:
            next_offset = min(lost.end, offset + MAX_OFFSETS)
            header, batch = _empty_batch(offset, next_offset, self.leader_epoch_for(offset))
            segment.log.file().write(batch, segment.size)
            segment.note(segment.size, header, offset, -1)
            offset = next_offset
        segment.log.file().sync()
        segment.spill_indexes()

    def _remember_loss(self) -> None:
        with storage_errors(f"can not write the state of {self.directory}"):
            self._write_state(self._synced_segments(), sync=True)
        self._checkpointed = None


def _empty_batch(offset: int, next_offset: int, leader_epoch: int) -> Batch:
    header = BatchHeader(
        offset,
        0,
        leader_epoch,
        MAGIC,
        0,
        0,
        next_offset - offset - 1,
        _NO_TIMESTAMP,
        _NO_TIMESTAMP,
        NO_PRODUCER_ID,
        -1,
        -1,
        0,
    )
    return rebuilt(header, b"")

"""Records that damage to the disk has taken from an open log; see `lost_ranges`."""

from barnabas.log.compaction.raw_records import Batch, rebuilt
from barnabas.log.errors import RecordsLost, storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.lost_ranges import LostRange
from barnabas.log.roller import SegmentRoller
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.log.state_file import StateFile
from barnabas.records.batch import MAGIC, NO_PRODUCER_ID, BatchHeader
from barnabas.records.record import NO_TIMESTAMP


class LogDamage:
    __slots__ = ("_log", "_roller", "_state_file")

    def __init__(self, log: LocalLog, roller: SegmentRoller, state_file: StateFile) -> None:
        self._log = log
        self._roller = roller
        self._state_file = state_file

    def mark_lost(self, start: int, end: int, reason: str) -> None:
        """Damage was found: from now on nothing can be read from `start` up to `end`.

        The next opening scans the segment, and takes the damage out. Raises `StorageError`.
        """
        log = self._log
        log.lost_ranges.add(LostRange(start, min(end, log.log_end_offset), reason))
        self._state_file.distrust(
            segment.base_offset
            for segment in log.segments
            if segment.base_offset < end and segment.next_offset > start
        )
        self._write_state()

    def mark_end_lost(self, end: int, reason: str, now_ms: int) -> None:
        """The log had ended at `end`: continue it there, since the offsets before are taken.

        Raises `StorageError`.
        """
        log = self._log
        start = log.log_end_offset
        if end <= start:
            return
        if log.active is not None and log.active.size == 0:
            # An empty segment would be taken for the one that keeps the log's end.
            emptied = log.segments.pop()
            log.active = None
            with storage_errors(f"cannot remove {emptied.log.path}"):
                emptied.close()
                for path in reversed(emptied.paths()):
                    log.files.disk.unlink(path)
        self._roller.roll(now_ms, end)
        log.log_end_offset = end
        log.lost_ranges.add(LostRange(start, end, reason))
        self._write_state()

    def accept_loss(self) -> list[LostRange]:
        """Put empty batches in the place of lost records, so that readers pass over them.

        Returns the ranges that were lost. Raises `RecordsLost` or `StorageError`.
        """
        log = self._log
        accepted = list(log.lost_ranges)
        for lost in accepted:
            if any(s.base_offset < lost.start < s.next_offset for s in log.segments):
                raise RecordsLost(
                    f"{log.directory}: {lost} are in the middle of a segment; restart the broker, "
                    "which takes the damage out of the segment, and try again"
                )
        with storage_errors(f"cannot write to {log.directory}"):
            for lost in accepted:
                self._fill(lost)
            log.files.disk.sync_directory(log.directory)
            log.lost_ranges.cut_at(-1)
            self._state_file.write(sync=True)
        self._state_file.invalidate()
        return accepted

    def _fill(self, lost: LostRange) -> None:
        log = self._log
        segment = self._segment_for(lost)
        offset = lost.start
        while offset < lost.end:
            next_offset = min(lost.end, offset + MAX_OFFSETS)
            header, batch = _empty_batch(offset, next_offset, log.leader_epoch_for(offset))
            segment.log.file().write(batch, segment.size)
            segment.note(segment.size, header, offset, NO_TIMESTAMP)
            offset = next_offset
        segment.log.file().sync()
        segment.spill_indexes()

    def _segment_for(self, lost: LostRange) -> Segment:
        """The segment before the lost records if it can take them, else a new one."""
        log = self._log
        before = [segment for segment in log.segments if segment.next_offset <= lost.start]
        if before and before[-1].reaches(lost.end):
            self._state_file.distrust([before[-1].base_offset])
            self._state_file.write(sync=True)
            return before[-1]
        segment = Segment(
            log.files,
            log.directory,
            lost.start,
            log.config.index_interval_bytes,
            log.opened_ms,
        )
        segment.log.create().truncate(0)
        log.segments.insert(len(before), segment)
        return segment

    def _write_state(self) -> None:
        with storage_errors(f"cannot write the state of {self._log.directory}"):
            self._state_file.write(sync=True)
        self._state_file.invalidate()


def _empty_batch(offset: int, next_offset: int, leader_epoch: int) -> Batch:
    header = BatchHeader(
        offset,
        0,
        leader_epoch,
        MAGIC,
        0,
        0,
        next_offset - offset - 1,
        NO_TIMESTAMP,
        NO_TIMESTAMP,
        NO_PRODUCER_ID,
        -1,
        -1,
        0,
    )
    return rebuilt(header, b"")

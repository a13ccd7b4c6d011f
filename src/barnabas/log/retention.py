"""Deleting the oldest segments: by age, by size and on request.

Whether a consumer has read them plays no part.
"""

from collections.abc import Sequence

from barnabas.log.config import LogConfig
from barnabas.log.errors import OffsetOutOfRange, StorageError, storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.roller import SegmentRoller
from barnabas.log.segment.deletion import DeleteJob
from barnabas.log.segment.segment import Segment
from barnabas.log.start_mark import move_mark
from barnabas.log.state_file import StateFile
from barnabas.log.storage import Disk


class LogRetention:
    __slots__ = ("_log", "_producers", "_roller", "_state_file")

    def __init__(
        self,
        log: LocalLog,
        producers: ProducerState,
        roller: SegmentRoller,
        state_file: StateFile,
    ) -> None:
        self._log = log
        self._producers = producers
        self._roller = roller
        self._state_file = state_file

    def apply(self, now_ms: int, *, upto_offset: int | None = None) -> DeleteJob | None:
        """Delete the segments that `retention_ms` and `retention_bytes` no longer keep.

        None at or behind `upto_offset`, the high watermark. The active segment is deleted too when
        all of it is too old; an empty one takes its place. Raises `StorageError`.
        """
        log = self._log
        if "delete" not in log.config.cleanup_policy:
            return None
        if upto_offset is None:
            upto_offset = log.log_end_offset
        with storage_errors(f"cannot apply retention to {log.directory}"):
            expired = expired_segments(
                log.segments, log.config, now_ms, upto_offset, log.files.disk
            )
        return self._delete_oldest(len(expired), now_ms)

    def delete_records_before(self, offset: int) -> DeleteJob | None:
        """Make `offset` the log start offset; segments wholly below it are deleted.

        Raises `OffsetOutOfRange` or `StorageError`.
        """
        log = self._log
        if not 0 <= offset <= log.log_end_offset:
            raise OffsetOutOfRange(offset, log.log_start_offset, log.log_end_offset)
        if offset <= log.log_start_offset:
            return None
        self._start_at(offset)
        below = sum(segment.next_offset <= offset for segment in log.segments[:-1])
        return self._delete_oldest(below, log.opened_ms)

    def _start_at(self, offset: int) -> None:
        log = self._log
        previous, log.log_start_offset = log.log_start_offset, offset
        try:
            self._state_file.checkpoint()
        except StorageError:
            log.log_start_offset = previous
            raise
        log.lost_ranges.start_at(offset)  # what was lost below it is nobody's loss any more

    def _delete_oldest(self, count: int, now_ms: int) -> DeleteJob | None:
        if count == 0:
            return None
        log = self._log
        if count == len(log.segments):
            # The new segment's name keeps the log's end while nothing else is there.
            self._roller.roll(now_ms)
        start = log.segments[count].base_offset
        self._start_at(max(log.log_start_offset, start))
        try:
            with storage_errors(f"cannot remove segments of {log.directory}"):
                # First the mark: segments that are missing behind it were not deleted.
                move_mark(log.files.disk, log.directory, log.marked_start, start)
                log.marked_start = start
                return log.segments.remove_oldest(count, log.files, log.directory)
        finally:
            log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
            log.lost_ranges.start_at(log.log_start_offset)
            log.epochs.truncate_before(log.log_start_offset)
            self._producers.snapshots.drop_below(log.log_start_offset)


def expired_segments(
    segments: Sequence[Segment], config: LogConfig, now_ms: int, upto_offset: int, disk: Disk
) -> Sequence[Segment]:
    """The oldest segments that retention deletes, none that reaches behind `upto_offset`.

    By age a segment is deleted when its newest record is older than `retention_ms`, the active
    segment included; if no record has a timestamp, the age of the file counts. By size the oldest
    are deleted as long as what remains is still `retention_bytes` or more. Raises OSError.
    """
    count = 0
    surplus = sum(segment.size for segment in segments) - config.retention_bytes
    for segment in segments:
        if segment.next_offset > upto_offset or segment.size == 0:
            break
        is_active = segment is segments[-1]
        too_many = config.retention_bytes >= 0 and surplus >= segment.size and not is_active
        if not too_many and not _is_too_old(segment, config.retention_ms, now_ms, disk):
            break
        surplus -= segment.size
        count += 1
    return segments[:count]


def _is_too_old(segment: Segment, retention_ms: int, now_ms: int, disk: Disk) -> bool:
    if retention_ms < 0:
        return False
    newest_ms = segment.max_timestamp
    if newest_ms <= 0:  # no timestamp, or 0, which earlier releases stored for none
        newest_ms = disk.modified_ms(segment.log.path)
    return now_ms - newest_ms > retention_ms

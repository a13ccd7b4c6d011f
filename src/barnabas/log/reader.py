"""Reading a log: batches by offset, and offsets by timestamp."""

from barnabas.log.errors import OffsetOutOfRange, RecordsLost, StorageError, storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.segment.read_check import check_batches
from barnabas.log.timestamp_lookup import TimestampOffset, first_at_or_after

_EMPTY = memoryview(b"")


class LogReader:
    __slots__ = ("_log",)

    def __init__(self, log: LocalLog) -> None:
        self._log = log

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upto_offset: int | None = None,
        min_one: bool = True,
    ) -> memoryview:
        """Whole batches exactly as stored, of one segment, from the one that holds `offset` on.

        At most `max_bytes`; with `min_one` the first batch is returned whole even if it is larger.
        Nothing at or behind `upto_offset`, which is a boundary between batches. Raises
        `RecordsLost` where records are lost, unless `skip_lost_records` is set, and `BatchDamaged`
        where damage is found.
        """
        log = self._log
        end = log.log_end_offset
        if not log.log_start_offset <= offset <= end:
            raise OffsetOutOfRange(offset, log.log_start_offset, end)
        if upto_offset is None or upto_offset > end:
            upto_offset = end
        segment = log.active
        if segment is None:
            return _EMPTY
        if log.lost_ranges:
            offset, upto_offset = self._around_lost(offset, upto_offset)
        if offset >= upto_offset:
            if offset == end:
                segment.hint(end, segment.size)
            return _EMPTY
        try:
            if offset < segment.base_offset:
                segment = log.segments.with_offset(offset)
            data = segment.read(offset, max_bytes, upto_offset, min_one=min_one)
            if offset < segment.unchecked_upto and (data or min_one):
                epochs = log.epochs if log.suspect_epochs_from is None else None
                check_batches(segment, offset, data, epochs, has_gaps=log.may_have_gaps)
            return data
        except OSError as error:
            raise StorageError(f"cannot read {segment.log.path}: {error}") from error

    def _around_lost(self, offset: int, upto_offset: int) -> tuple[int, int]:
        """The part of [offset, upto_offset) that can be read without skipping lost records."""
        lost_ranges = self._log.lost_ranges
        lost = lost_ranges.at(offset)
        while lost is not None:
            if not self._log.config.skip_lost_records or lost.end >= upto_offset:
                raise RecordsLost(f"{self._log.directory} has lost {lost}")
            offset = lost.end
            lost = lost_ranges.at(offset)
        start = lost_ranges.next_start(offset)
        return offset, upto_offset if start is None else min(start, upto_offset)

    def expect_read_at_end(self) -> None:
        """A reader waits at the end: remember its position, so that its read needs no search."""
        log = self._log
        if log.active is not None:
            log.active.hint(log.log_end_offset, log.active.size)

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches from `offset` up to `end_offset`, both batch boundaries."""
        with storage_errors(f"cannot read {self._log.directory}"):
            return self._log.segments.bytes_between(offset, end_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record with this timestamp or a later one."""
        log = self._log
        with storage_errors(f"cannot read {log.directory}"):
            return first_at_or_after(log.segments, timestamp, log.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first of the records with the largest timestamp."""
        largest = max((segment.max_timestamp for segment in self._log.segments), default=-1)
        return None if largest < 0 else self.offset_for_timestamp(largest)

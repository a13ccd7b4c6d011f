"""Writing `log.state` of an open log; see `state` for its content."""

from collections.abc import Iterable

from barnabas.log.errors import storage_errors
from barnabas.log.local_log import LocalLog
from barnabas.log.lost_ranges import LostRanges
from barnabas.log.segment.segment import Segment
from barnabas.log.state import STATE_FILE, LogState, SegmentState, write_state


class StateFile:
    """Knows what the file says, and which segments it may list as trusted."""

    __slots__ = ("_log", "_untrusted", "_written")

    def __init__(self, log: LocalLog, *, is_current: bool) -> None:
        """`is_current`: the file has the log as it is now."""
        self._log = log
        self._untrusted: set[int] = set()
        """Base offsets of segments that the next opening has to scan."""
        self._written = self._extent() if is_current else None
        """The extent of the log when the file was written; None if it has to be written."""

    def _extent(self) -> tuple[int, ...]:
        log = self._log
        offsets = log.log_start_offset, log.committed_offset, log.flushed_offset
        trusted = (segment.base_offset for segment in self._trusted_segments())
        return *offsets, log.log_end_offset, *trusted

    def _trusted_segments(self) -> list[Segment]:
        """The segments that are on stable storage together with their indexes."""
        log = self._log
        return [
            segment
            for segment in log.segments
            if segment.next_offset <= log.flushed_offset
            and segment.has_spilled_indexes
            and segment.base_offset not in self._untrusted
        ]

    def checkpoint(self) -> None:
        """Write the file if the log has changed. Raises `StorageError`."""
        extent = self._extent()
        if self._written == extent:
            return
        with storage_errors(f"cannot write the state of {self._log.directory}"):
            self.write()
        self._written = extent

    def sync(self) -> None:
        """Put the file on stable storage, as it was written last. Raises `StorageError`.

        Any thread may do it while nothing writes the file. Without it, a power loss may bring an
        older file back, which tells of segments that have been deleted since.
        """
        disk, directory = self._log.files.disk, self._log.directory
        with storage_errors(f"cannot sync the state of {directory}"):
            file = disk.open(f"{directory}/{STATE_FILE}")
            try:
                file.sync()
            finally:
                file.close()
            disk.sync_directory(directory)

    def invalidate(self) -> None:
        """The next checkpoint has to write the file."""
        self._written = None

    def distrust(self, base_offsets: Iterable[int]) -> None:
        """The next opening has to scan these segments."""
        self._untrusted.update(base_offsets)

    def trust_all(self) -> None:
        """The log has none of the segments any more that were distrusted."""
        self._untrusted.clear()

    def write(
        self,
        *,
        replaced: Iterable[int] = (),
        sync: bool = False,
        end_offset: int | None = None,
    ) -> None:
        """Raises OSError.

        `replaced` are base offsets of segments that are on stable storage, as are those that a
        compaction puts in their place: the file lists them as to be scanned. With `end_offset`,
        the log is about to be cut there.
        """
        log = self._log
        segments = {
            segment.base_offset: SegmentState.of(segment) for segment in self._trusted_segments()
        }
        for base_offset in replaced:
            segments[base_offset] = SegmentState.to_be_scanned(base_offset)
        untrusted = frozenset(
            segment.base_offset
            for segment in log.segments
            if segment.base_offset not in segments
            and (end_offset is None or segment.base_offset < end_offset)
        )
        lost_ranges = LostRanges(log.lost_ranges)
        committed_offset = log.committed_offset
        if end_offset is not None:
            lost_ranges.cut_at(end_offset)
            committed_offset = min(committed_offset, end_offset)
        state = LogState(
            log.log_start_offset,
            log.epochs.entries(),
            segments,
            committed_offset,
            log.compaction_progress,
            tuple(lost_ranges),
            untrusted=untrusted,
            expected_end=log.missed_end,
            closed_end=log.closed_end,
            suspect_from=log.suspect_from,
        )
        # A torn file would not tell of the losses that the one before may have told of.
        is_only_copy = bool(state.lost_ranges or state.expected_end)
        write_state(log.files.disk, log.directory, state, sync=sync or is_only_copy)

"""What a log consists of, and what is written down about it in `log.state`."""

from collections.abc import Iterable

from barnabas.log.compaction import (
    Source,
)
from barnabas.log.config import LogConfig
from barnabas.log.errors import storage_errors
from barnabas.log.flush_job import FlushJob
from barnabas.log.lost_ranges import LostRanges
from barnabas.log.producers.snapshot_files import Snapshots
from barnabas.log.producers.table import ProducerTable
from barnabas.log.recovery.recovery import Recovered
from barnabas.log.segment.deletion import SegmentInfo
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import Segment
from barnabas.log.state import LogState, SegmentState, write_state


class StoredLog:
    """The parts of a log, put together from what recovery has found."""

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
        "_unvouched",
        "committed_offset",
        "config",
        "directory",
        "flushed_offset",
        "is_flush_marked",
        "is_in_doubt",
        "log_end_offset",
        "log_start_offset",
        "lost_ranges",
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
        self.lost_ranges = recovered.lost_ranges
        self.is_flush_marked = recovered.is_flush_marked
        self.is_in_doubt = False
        """Something that was acknowledged may be missing: then nothing is marked as flushed."""
        """See `FLUSH_MARK`."""
        self._epochs = recovered.epochs
        self._snapshots = Snapshots(files.disk, directory, recovered.snapshots)
        self._producers: ProducerTable | None = None
        """None until it is needed."""
        self._files = files
        self._unvouched: set[int] = set()
        """Segments that the next opening has to look into, by their base offset."""
        has_changed = recovered.report is not None or recovered.is_state_outdated
        self._checkpointed = None if has_changed else self._extent()
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

    @property
    def segments(self) -> list[SegmentInfo]:
        return [SegmentInfo.of(segment) for segment in self._segments]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def _load_producers(self) -> ProducerTable:
        """The newest snapshot, and every batch behind it, read when first needed."""
        if self._producers is None:
            with storage_errors(f"can not read {self.directory}"):
                self._producers = self._snapshots.load(
                    self._segments, self._opened_ms, self.committed_offset
                )
        return self._producers

    def _extent(self) -> tuple[int, ...]:
        synced = (segment.base_offset for segment in self._synced_segments())
        offsets = self.log_start_offset, self.committed_offset, self.flushed_offset
        return *offsets, self.log_end_offset, *synced

    def _synced_segments(self) -> list[Segment]:
        """The segments that are on the disk with their indexes, which the state may vouch for."""
        return [
            segment
            for segment in self._segments
            if segment.next_offset <= self.flushed_offset
            and segment.has_spilled_indexes
            and segment.base_offset not in self._unvouched
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
        self,
        vouched: list[Segment],
        replaced: Iterable[Source] = (),
        *,
        sync: bool = False,
        end_offset: int | None = None,
    ) -> None:
        """`replaced` are on the disk, as are their successors, but are to be scanned.

        With `end_offset`, the log is about to be cut there.
        """
        segments = {segment.base_offset: SegmentState.of(segment) for segment in vouched}
        for source in replaced:
            segments[source.base_offset] = SegmentState.to_be_scanned(source.base_offset)
        lost_ranges = LostRanges(self.lost_ranges)
        if end_offset is not None:
            lost_ranges.cut_at(end_offset)
        state = LogState(
            self.log_start_offset,
            self._epochs.entries(),
            segments,
            self.committed_offset if end_offset is None else min(self.committed_offset, end_offset),
            self._compaction,
            tuple(lost_ranges),
        )
        write_state(self._files.disk, self.directory, state, sync=sync)

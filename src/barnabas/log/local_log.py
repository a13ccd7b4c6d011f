"""The state that the parts of a log share: segments, offsets, leader epochs, settings.

Each part of a log (see `log`) gets this object, and keeps what only it needs to itself.
"""

from barnabas.log.config import LogConfig
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.recovery.recovered import Recovered
from barnabas.log.segment.deletion import SegmentInfo
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import Segment


class LocalLog:
    """Segments and offsets, initialized with what recovery has found."""

    __slots__ = (
        "active",
        "appended_bytes",
        "are_names_synced",
        "closed_end",
        "committed_offset",
        "compaction_progress",
        "config",
        "directory",
        "epochs",
        "expected_end",
        "failure",
        "files",
        "flushed_offset",
        "gap_from",
        "is_compaction_unknown",
        "is_flush_marked",
        "is_in_doubt",
        "is_torn",
        "log_end_offset",
        "log_start_offset",
        "lost_ranges",
        "marked_start",
        "opened_ms",
        "recovery",
        "segments",
        "suspect_epochs_from",
        "suspect_from",
    )

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        config: LogConfig,
        now_ms: int,
        recovered: Recovered,
    ) -> None:
        self.files = files
        self.directory = directory
        self.config = config
        self.opened_ms = now_ms
        self.recovery = recovered.report
        """What recovery had to repair; None if the log was intact."""
        self.expected_end = recovered.expected_end
        """The log ended there before it lost its end; `log.state` keeps it."""
        self.closed_end = recovered.closed_end
        """Where the log ended when it was last closed; `log.state` keeps it."""
        self.segments = recovered.segments
        self.active = recovered.segments[-1] if recovered.segments else None
        """The segment that appends go to."""
        self.appended_bytes = 0
        """Since the log was opened, as a leader or as a follower."""
        self.log_start_offset = recovered.log_start_offset
        self.log_end_offset = self.active.next_offset if self.active else recovered.log_start_offset
        self.flushed_offset = recovered.synced_offset
        """Everything below is on stable storage."""
        self.committed_offset = recovered.committed_offset
        """The high watermark, which the replica sets; `log.state` keeps it."""
        self.epochs = recovered.epochs
        self.suspect_epochs_from = recovered.suspect_epochs_from
        """From this offset on, batches may be of other leader epochs than they say; see
        `epoch_order`."""
        self.gap_from = recovered.gap_from
        """See `Recovered`; as it was when the log was opened."""
        self.suspect_from = recovered.suspect_from
        """From this offset on, records are to be replaced; `log.state` keeps it. See `suspects`."""
        self.lost_ranges = recovered.lost_ranges
        self.marked_start = recovered.marked_start
        """No segment was deleted behind this offset; see `start_mark`."""
        self.compaction_progress = recovered.compaction
        self.is_compaction_unknown = recovered.is_compaction_unknown
        """`log.state` was lost before this opening; see `Recovered`."""
        self.is_flush_marked = recovered.is_flush_marked
        """The directory has the file FLUSH_MARK; see `flusher`."""
        self.is_in_doubt = False
        """An acknowledged record may be missing: then the log gets no FLUSH_MARK."""
        self.are_names_synced = bool(recovered.segments) and recovered.report is None
        """The directory entries of all segments are on stable storage."""
        self.is_torn = False
        """A failed append left bytes behind the last batch, which could not be cut off yet."""
        self.failure: str | None = None
        """Why the log refuses appends until it is opened again."""

    @property
    def may_have_gaps(self) -> bool:
        """Whether compaction may have removed batches, and offsets with them, here or at a leader.

        It may have been long ago: `cleanup.policy` may have changed since.
        """
        progress = self.compaction_progress
        return "compact" in self.config.cleanup_policy or (
            progress.compacted_offset > 0 or progress.deletions_upto > 0
        )

    @property
    def missed_end(self) -> int:
        """Where the log ended before it lost its end; 0 if it has that again."""
        if self.log_end_offset >= self.expected_end:
            self.expected_end = 0
        return self.expected_end

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def segment_infos(self) -> list[SegmentInfo]:
        """Offsets, size and timestamp of each segment, as they are now."""
        return [SegmentInfo.of(segment) for segment in self.segments]

    @property
    def latest_epoch(self) -> int:
        """The last leader epoch that began here, with or without records; -1 if there is none."""
        return self.epochs.latest

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record; -1 if there is none."""
        return self.epochs.epoch_for(self.log_end_offset - 1)

    def leader_epoch_for(self, offset: int) -> int:
        return self.epochs.epoch_for(offset)

    def start_of_epoch_above(self, epoch: int) -> int | None:
        """Where the first epoch later than `epoch` starts; None if there is none."""
        return self.epochs.start_above(epoch)

    def has_records_before(self, offset: int) -> bool:
        """Whether compaction has left any. Raises `StorageError`."""
        with storage_errors(f"cannot read {self.directory}"):
            for segment in self.segments:
                for _, header in segment.headers(0):
                    return header.base_offset < offset
        return False

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The answer to OffsetForLeaderEpoch: (epoch, end offset); (-1, -1) if it is unknown."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def require_appendable(self) -> None:
        """Cut off what a failed append has left. Raises `StorageError` if that is not possible."""
        if self.failure is not None:
            raise StorageError(self.failure)
        if self.is_torn:
            assert self.active is not None
            self.cut_back(self.active)
            if self.is_torn:
                raise StorageError(f"cannot cut off the torn end of {self.active.log.path}")

    def cut_back(self, segment: Segment) -> None:
        """Cut off what a failed append has left in a segment, or remember to do it later."""
        try:
            segment.cut_back()
            self.is_torn = False
        except OSError:
            self.is_torn = True

"""The result of a recovery: the state that an open log begins with."""

from typing import NamedTuple

from barnabas.log.compaction_progress import Progress
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.lost_ranges import LostRanges
from barnabas.log.segment.segments import Segments


class RecoveryReport(NamedTuple):
    """What an opening had to repair."""

    scanned_bytes: int
    cut_bytes: int
    dropped_segments: int
    flaw: str
    lost: str
    """Segments that `log.state` lists as being on stable storage, and that are missing."""
    expected_end: int
    """The log ended there, or behind, when its state was written. If that is behind the
    `log_end_offset` of now, its end is lost."""
    corrected_epochs: int = 0
    """Batches whose leader epoch could not be right, and was clear from those around them."""


class Recovered(NamedTuple):
    segments: Segments
    epochs: LeaderEpochs
    log_start_offset: int
    synced_offset: int
    """Everything below is known to be on stable storage."""
    snapshots: list[int]
    report: RecoveryReport | None
    """None if there was nothing to repair."""
    committed_offset: int
    compaction: Progress
    lost_ranges: LostRanges
    marked_start: int = 0
    """No segment was deleted behind this offset; see `start_mark`."""
    is_flush_marked: bool = False
    is_state_outdated: bool = False
    """`log.state` has another start: a power loss has brought an older state back."""
    suspect_epochs_from: int | None = None
    """Where the first batch is whose leader epoch can't be right, and is not clear."""
    expected_end: int = 0
    """Where the log ended before it lost its end; 0 if it has not."""
    closed_end: int = -1
    """Where the log ended when it was last closed; -1 if it never was."""
    is_compaction_unknown: bool = False
    """`log.state` is lost, which knew where leader epochs began behind what is compacted."""
    gap_from: int | None = None
    """Where a gap begins that a power loss may have made: in the newest segment, where the base
    offset of a batch that was not synced may be garbled, which no checksum covers (a follower that
    copied a compacted log has such gaps, too); or between segments of a compacted log without a
    state, where the end of one may be gone."""
    suspect_from: int | None = None
    """From which offset on the records were suspect when the log was last used; see `suspects`."""

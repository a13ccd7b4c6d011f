"""How far a log is compacted."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Part of `log.state`. An offset that is too low only costs time."""

    compacted_offset: int = 0
    """Below, no key occurs twice."""
    last_horizon_ms: int = -1
    """When all tombstones and markers that are left may be removed; -1 if there is none."""
    deletions_upto: int = 0
    """Compaction has removed tombstones or markers below, so a replica that lacks the records from
    an earlier offset on would not see all deletions if it got what is left of them."""
    truncations: int = 0
    """How often the log was truncated since it was opened: earlier jobs are void."""

    def cut_at(self, offset: int) -> None:
        """The log ends there."""
        self.compacted_offset = min(self.compacted_offset, offset)
        self.deletions_upto = min(self.deletions_upto, offset)

    def truncated(self, offset: int) -> None:
        self.truncations += 1
        self.cut_at(offset)

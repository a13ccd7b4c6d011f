"""How far a log is compacted."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Part of `log.state`. A lower offset than the true one costs time and nothing else."""

    compacted_offset: int = 0
    """Below, no key occurs twice."""
    last_horizon_ms: int = -1
    """When all tombstones and markers that were left may go; -1 if none was."""
    truncations: int = 0
    """How often the log was cut since it was opened: a job from before is void."""

    def cut_at(self, offset: int) -> None:
        """The log ends there."""
        self.compacted_offset = min(self.compacted_offset, offset)

    def truncated(self, offset: int) -> None:
        self.truncations += 1
        self.cut_at(offset)

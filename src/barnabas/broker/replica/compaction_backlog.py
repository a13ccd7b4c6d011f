"""What the cleaner has found and done, for metrics."""

_WHOLE = 1.0


class CompactionBacklog:
    """As the last look at all partitions found it."""

    def __init__(self) -> None:
        self.due = 0
        """Partitions that are due for compaction."""
        self.max_dirty_share = 0.0
        """Of the one that needs it most; 1 if it is overdue."""
        self.failed = 0
        """Partitions that are skipped for a while, as their last compaction failed."""
        self.runs = 0
        self.freed_bytes = 0

    def looked(self, due: int, urgency: float, failed: int) -> None:
        self.due = due
        self.max_dirty_share = min(urgency, _WHOLE)
        self.failed = failed

    def compacted(self, freed_bytes: int) -> None:
        self.runs += 1
        self.freed_bytes += freed_bytes

"""How long micro-batches took, as a histogram with bounds in seconds."""

from bisect import bisect_left
from dataclasses import dataclass, field

BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass
class BatchDurations:
    """Counts of batches up to each bound, and above the last one."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_s: float = 0.0

    def add(self, duration_s: float) -> None:
        self.counts[bisect_left(BOUNDS_S, duration_s)] += 1
        self.sum_s += duration_s

"""Counts of measured values by size: one list access for each value, everything else at a scrape.

Buckets count from the start of the node. `recent_quantile` looks at the last one to two windows
only, as the node calls `rotate` once for each window.
"""

from bisect import bisect_left
from collections.abc import Sequence

WINDOW_S = 60.0

TIMES_S: tuple[float, ...] = tuple(1e-5 * 1.5**step for step in range(40))
"""Bounds for times of requests: 10 us to 74 s, each half as large again as the one before."""
DELAYS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = tuple(float(64 * 4**step) for step in range(11))
"""64 bytes to 64 MB."""


class Histogram:
    """`counts[i]` are the values up to `bounds[i]`, and above the bound before it; the last count
    is of those above all bounds."""

    __slots__ = ("_at_rotation", "_before", "bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0
        self._at_rotation = self._before = list(self.counts)

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value that stands for so many."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        return sum(self.counts)

    def rotate(self) -> None:
        """A window has ended."""
        self._before, self._at_rotation = self._at_rotation, list(self.counts)

    def recent_quantile(self, share: float) -> float:
        """The value below which `share` of the recent ones are; 0 if there are none.

        Within a bucket, values are taken to be spread evenly.
        """
        recent = [now - before for now, before in zip(self.counts, self._before, strict=True)]
        rank = share * sum(recent)
        if not rank:
            return 0.0
        below = 0
        for index, count in enumerate(recent):
            if count and below + count >= rank:
                low = self.bounds[index - 1] if index else 0.0
                high = self.bounds[min(index, len(self.bounds) - 1)]
                return low + (high - low) * (rank - below) / count
            below += count
        return self.bounds[-1]

"""What a client counts of its requests: a few additions for each request, nothing for a record.

Only the thread that runs the connections writes it. Any thread may read it: each value is read at
once, and two that belong together may be one request apart.
"""

from collections import defaultdict

WINDOW_S = 30.0
"""Averages and maxima are of the last one to two windows, as those of Kafka's clients are."""


class RecentAverage:
    """The average and the maximum of recent values, and how many there were in all."""

    __slots__ = ("_began_at", "_now", "_previous", "count")

    def __init__(self) -> None:
        self.count = 0
        self._began_at = 0.0
        self._previous = self._now = (0, 0.0, 0.0)
        """Count, sum and maximum of a window."""

    def observe(self, value: float, at: float) -> None:
        """Add a value that was measured at a time of the client's clock."""
        self.count += 1
        if at - self._began_at >= WINDOW_S:
            is_next = at - self._began_at < 2 * WINDOW_S
            self._previous = self._now if is_next else (0, 0.0, 0.0)
            self._now = (0, 0.0, 0.0)
            self._began_at = at
        count, total, largest = self._now
        self._now = (count + 1, total + value, max(largest, value))

    def average(self, at: float) -> float | None:
        """None if there was no value lately."""
        windows = self._recent(at)
        count = sum(window[0] for window in windows)
        return sum(window[1] for window in windows) / count if count else None

    def maximum(self, at: float) -> float | None:
        """None if there was no value lately."""
        return max((window[2] for window in self._recent(at) if window[0]), default=None)

    def _recent(self, at: float) -> tuple[tuple[int, float, float], ...]:
        age = at - self._began_at
        if age >= 2 * WINDOW_S:
            return ()
        return (self._now,) if age >= WINDOW_S else (self._previous, self._now)


class Traffic:
    """Of all connections of a client."""

    def __init__(self) -> None:
        self.connections_made = 0
        self.requests = 0
        self.responses = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self.request_bytes = RecentAverage()
        self._latencies: defaultdict[int, RecentAverage] = defaultdict(RecentAverage)

    def sent(self, size: int, at: float) -> None:
        """A request was written."""
        self.requests += 1
        self.bytes_out += size
        self.request_bytes.observe(size, at)

    def answered(self, api_key: int, seconds: float, at: float) -> None:
        """A request was answered."""
        self.responses += 1
        self._latencies[api_key].observe(seconds, at)

    def latency(self, *api_keys: int) -> RecentAverage:
        """Of the first of these APIs that was used; empty if none was."""
        for key in api_keys:
            found = self._latencies.get(key)
            if found is not None:
                return found
        return RecentAverage()

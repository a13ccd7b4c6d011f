"""How far a pipeline is behind, in seconds.

Records are counted: how many there are in the topics, and how many were read. A pipeline that has
read as many as there were a minute ago is a minute behind. What was there before
the run began counts as written when it began, so a large backlog is understated.
"""

from dataclasses import dataclass, field

_MOST = 1_000


@dataclass
class LagTime:
    """The number of records in the topics over time."""

    _seen: list[tuple[float, int]] = field(default_factory=list)

    def add(self, at: float, there: int, read: int) -> None:
        """Add a report: the sums of the last offsets, and of those that were read."""
        if self._seen and there < self._seen[-1][1]:
            self._seen.clear()  # a topic was created again
        if not self._seen or there > self._seen[-1][1]:
            self._seen.append((at, there))
        while self._seen and self._seen[0][1] <= read:
            self._seen.pop(0)
        if len(self._seen) > _MOST:  # a long backlog: every second sample is precise enough
            del self._seen[1:-1:2]

    def seconds(self, now: float) -> float:
        """The age of the oldest known record that was not read; 0 if there is none."""
        return max(now - self._seen[0][0], 0.0) if self._seen else 0.0

"""Limits how many topics or producer ids clients create: a burst, and a rate per second."""

from collections.abc import Callable


class CreationRate:
    """A token bucket; its capacity is what may be created at once."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._used = 0.0
        self._at = now()

    def allowed(self, count: int, per_request: int, per_second: int) -> int:
        """How many of `count` may be created now; they count as created."""
        now = self._now()
        self._used = max(0.0, self._used - (now - self._at) * per_second)
        self._at = now
        allowed = max(0, min(count, per_request, int(per_second - self._used)))
        self._used += allowed
        return allowed

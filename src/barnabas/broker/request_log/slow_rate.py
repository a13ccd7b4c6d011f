"""A limit of lines about slow requests: when a node is slow, all of its requests are."""

from collections.abc import Callable

_INTERVAL_S = 10.0
_LINES = 100


class SlowRate:
    def __init__(self, now: Callable[[], float], report: Callable[[int], None]) -> None:
        """`report` is called with the number of requests that were left out."""
        self._now = now
        self._report = report
        self._begin = now()
        self._count = 0

    def allows_one(self) -> bool:
        now = self._now()
        if now - self._begin >= _INTERVAL_S:
            if self._count > _LINES:
                self._report(self._count - _LINES)
            self._begin = now
            self._count = 0
        self._count += 1
        return self._count <= _LINES

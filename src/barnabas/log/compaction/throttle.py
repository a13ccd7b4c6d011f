"""A cap on how many bytes a second a compaction reads and writes."""

import time
from collections.abc import Callable

UNLIMITED = 0
_LONGEST_BURST_S = 0.1


class Throttle:
    """Sleeps when more bytes were moved than the rate allows."""

    __slots__ = ("_ahead_bytes", "_at_s", "_clock", "_rate", "_sleep", "total_bytes")

    def __init__(
        self,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        self._sleep = sleep
        self._at_s = clock() if bytes_per_second else 0.0
        self._ahead_bytes = 0.0
        """Bytes moved beyond what the rate allowed so far."""
        self.total_bytes = 0

    def spent(self, size_bytes: int) -> None:
        """`size_bytes` were read or written; sleeps until more may be."""
        self.total_bytes += size_bytes
        if not self._rate:
            return
        now_s = self._clock()
        paid = (now_s - self._at_s) * self._rate
        self._ahead_bytes = max(0.0, self._ahead_bytes - paid) + size_bytes
        self._at_s = now_s
        if self._ahead_bytes > self._rate * _LONGEST_BURST_S:
            self._sleep(self._ahead_bytes / self._rate)

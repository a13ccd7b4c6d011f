"""The broker's clocks."""

import time


def now_ms() -> int:
    """Wall-clock time, for timestamps that are stored."""
    return time.time_ns() // 1_000_000


class Clock:
    """A wall clock, and a steady clock that is never set.

    Timeouts use the steady clock: when the machine's clock is set, no session expires at once and
    none stays alive too long.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        """Wall-clock time, for timestamps that are stored."""
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        """Wall-clock time at startup, advanced by a monotonic clock."""
        return (self._offset_ns + time.monotonic_ns()) // 1_000_000

    def steady_s(self) -> float:
        """For short times, such as that of one request."""
        return time.perf_counter()

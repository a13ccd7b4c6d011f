"""The broker's clocks."""

import time


def now_ms() -> int:
    """The time of day, for timestamps that are kept."""
    return time.time_ns() // 1_000_000


class Clock:
    """The time of day, and beside it a time that nobody sets.

    Timeouts run on the steady one: when somebody sets the machine's clock, no session expires at
    once and none lives on for ever.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        """The time of day, for timestamps that are kept."""
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        """The time of day at the start, moved on by a clock that is never set."""
        return (self._offset_ns + time.monotonic_ns()) // 1_000_000

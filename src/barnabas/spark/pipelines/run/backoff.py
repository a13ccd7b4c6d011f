"""The wait before a failed query is restarted."""

FIRST_S = 1.0
LONGEST_S = 60.0


class Backoff:
    """Waits that double, and start over once the query has finished a batch."""

    def __init__(self, max_restarts: int | None = None) -> None:
        self._max_restarts = max_restarts
        self.in_a_row = 0

    def reset(self) -> None:
        """A batch was finished."""
        self.in_a_row = 0

    def next_s(self) -> float | None:
        """The next wait; None if it has failed too often."""
        if self._max_restarts is not None and self.in_a_row >= self._max_restarts:
            return None
        wait_s: float = min(FIRST_S * 2.0**self.in_a_row, LONGEST_S)
        self.in_a_row += 1
        return wait_s

"""The wait before a failed query is restarted."""

from barnabas.backoff import Backoff

PAUSES_S = Backoff(1.0, 60.0)


class RestartPolicy:
    """Counts restarts in a row; a query that has finished a batch begins to count again."""

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
        self.in_a_row += 1
        return PAUSES_S.pause(self.in_a_row)

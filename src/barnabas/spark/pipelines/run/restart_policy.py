"""The wait before a failed query is restarted."""

from barnabas.backoff import Backoff
from barnabas.spark.pipelines.errors.known_causes import Retry

PAUSES_S = Backoff(1.0, 60.0)


_MOST_UNCOUNTED = 10


class RestartPolicy:
    """Counts restarts in a row; a finished batch resets the count.

    Failures of the machine, rather than of the pipeline, have a higher limit.
    """

    def __init__(self, max_restarts: int | None = None) -> None:
        self._max_restarts = max_restarts
        self.in_a_row = 0
        self._counted = 0

    def reset(self) -> None:
        """A batch was finished."""
        self.in_a_row = self._counted = 0

    def next_s(self, retry: Retry = "counted") -> float | None:
        """The next wait; None if the query has failed too often, or can't succeed."""
        if retry == "never":
            return None
        if self._max_restarts is not None:
            is_counted = retry == "counted"
            most = self._max_restarts if is_counted else self._max_restarts + _MOST_UNCOUNTED
            if (self._counted if is_counted else self.in_a_row) >= most:
                return None
            self._counted += is_counted
        self.in_a_row += 1
        return PAUSES_S.pause(self.in_a_row)

"""Failed records whose failure was not reported yet."""

from collections import deque

from barnabas.client.producer.batch_result import DeliveryOutcome
from barnabas.errors import BarnabasError, DeliveryFailed

_REMEMBERED = 1_000


class UnreportedFailures:
    """Keeps failures until they are reported; of very many only their number."""

    def __init__(self) -> None:
        self._outcomes: deque[DeliveryOutcome] = deque()
        self._forgotten = 0
        self._first: BarnabasError | None = None

    def add(self, outcome: DeliveryOutcome) -> None:
        """These records failed."""
        self._outcomes.append(outcome)
        if len(self._outcomes) > _REMEMBERED:
            self._count(self._outcomes.popleft())

    def take(self) -> DeliveryFailed | None:
        """What was not reported until now, to be raised; it counts as reported then."""
        while self._outcomes:
            self._count(self._outcomes.popleft())
        count, first = self._forgotten, self._first
        self._forgotten, self._first = 0, None
        return None if first is None else DeliveryFailed(count, first)

    def _count(self, outcome: DeliveryOutcome) -> None:
        if not outcome.seen:
            self._forgotten += outcome.count
            self._first = self._first or outcome.error

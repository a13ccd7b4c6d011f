"""What becomes of a record whose handler has failed."""

from collections.abc import Sequence
from typing import NamedTuple


class RetryPolicy(NamedTuple):
    pauses_s: Sequence[float] = (0.0,)
    """Before the second delivery, the third, …; the last one counts for all that follow."""
    max_deliveries: int = 4
    """With dead letters: after so many, a record is one of them."""

    def pause_s(self, delivery_count: int) -> float:
        return self.pauses_s[min(delivery_count, len(self.pauses_s)) - 1]

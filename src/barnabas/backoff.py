"""Exponential back-off: the pauses between attempts. Pure: chance is an argument."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

_MOST_DOUBLINGS = 32
_SPREAD = 0.2


class Backoff(NamedTuple):
    """Pauses that double from `first` to `longest`, in the unit of these two."""

    first: float
    longest: float

    def pause(self, attempt: int, random: Callable[[], float] | None = None) -> float:
        """The pause before the n-th further attempt, n from 1.

        With a random source, which returns numbers from 0 to 1, it is spread by a fifth, so that
        clients do not retry in step.
        """
        pause = min(self.first * (1 << min(attempt - 1, _MOST_DOUBLINGS)), self.longest)
        return pause if random is None else pause * (1 - _SPREAD + 2 * _SPREAD * random())

    def pauses(self, random: Callable[[], float] | None = None) -> Iterator[float]:
        """The pauses before the second, third, ... attempt, without end."""
        return (self.pause(attempt, random) for attempt in count(1))

    def after(self, previous: float) -> float:
        """The pause that follows another one, 0 for none."""
        return min(max(2 * previous, self.first), self.longest)

"""How much may be decompressed before other work gets its turn.

A kilobyte can decompress to 32 MiB, so the size of requests does not bound the work that they make.
Code that decompresses on an event loop takes the bytes from one budget for all requests of a turn;
what exceeds it is done elsewhere. A broker has budgets for requests too.

A reader takes what a batch may need at most, decompresses no more than that, and settles how much
it was: so several threads together stay within one budget.
"""

from collections.abc import Callable
from typing import Protocol


class OverBudget(Exception):  # noqa: N818 - says what has happened
    """The batch may be valid, and is too large to be decompressed now."""


class DecompressionBudget(Protocol):
    def take(self, limit: int) -> int:
        """So many bytes may be decompressed now: at most `limit`, none if nothing is left."""

    def settle(self, taken: int, used: int) -> None:
        """So many of the bytes that `take` has returned were decompressed."""


class TurnBudget:
    """`total` bytes for each turn; when half of them are used, `call_soon` is asked for the next
    turn, so that most turns cost nothing. For one thread."""

    __slots__ = ("_call_soon", "_ends_soon", "_total", "left")

    def __init__(self, total: int, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self.left = self._total = total
        self._call_soon = call_soon
        self._ends_soon = False

    def take(self, limit: int) -> int:
        taken = max(0, min(limit, self.left))
        self.left -= taken
        return taken

    def settle(self, taken: int, used: int) -> None:
        self.left += taken - used
        if self.left < self._total // 2 and not self._ends_soon:
            self._ends_soon = True
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self.left = self._total
        self._ends_soon = False


class SmallerBudget:
    """What both budgets allow."""

    __slots__ = ("_budgets",)

    def __init__(self, one: DecompressionBudget, other: DecompressionBudget) -> None:
        self._budgets = one, other

    def take(self, limit: int) -> int:
        one, other = self._budgets
        first = one.take(limit)
        taken = other.take(first)
        if taken < first:
            one.settle(first, taken)
        return taken

    def settle(self, taken: int, used: int) -> None:
        for budget in self._budgets:
            budget.settle(taken, used)

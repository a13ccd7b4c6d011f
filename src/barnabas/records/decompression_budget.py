"""How much may be decompressed before other work gets its turn.

A kilobyte can decompress to 32 MiB, so the size of requests does not bound the work that they make.
Code that decompresses on an event loop takes the bytes from one budget for all requests of a turn;
what exceeds it is done elsewhere.
"""

from collections.abc import Callable


class OverBudget(Exception):  # noqa: N818 - says what has happened
    """The batch may be valid, and is too large to be decompressed now."""


class DecompressionBudget:
    """`total` bytes for each turn; when half of them are used, `call_soon` is asked for the next
    turn, so that most turns cost nothing."""

    __slots__ = ("_call_soon", "_ends_soon", "_total", "left")

    def __init__(self, total: int, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self.left = self._total = total
        self._call_soon = call_soon
        self._ends_soon = False

    def use(self, size: int) -> None:
        self.left -= size
        if self.left < self._total // 2 and not self._ends_soon:
            self._ends_soon = True
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self.left = self._total
        self._ends_soon = False

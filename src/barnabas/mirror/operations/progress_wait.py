"""Waiting for flows: for as long as they get on, and a while longer.

Less left than ever before is progress. Where producers go on writing, what is left becomes more and
less by turns, so that this comes to an end too.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

ShowProgress: TypeAlias = Callable[[str], None]


def show_nothing(_text: str) -> None:
    """For those who only want the outcome."""


class Remaining(NamedTuple):
    """What flows have yet to copy."""

    unbegun: int = 0
    """Flows and partitions that were never copied; one less counts more than any offsets."""
    offsets: int = 0
    words: tuple[str, ...] = ()
    """The same for people; empty if nothing remains."""

    def plus(self, other: "Remaining") -> "Remaining":
        return Remaining(
            self.unbegun + other.unbegun,
            self.offsets + other.offsets,
            (*self.words, *other.words),
        )


class ProgressWait:
    """Decides when a wait was in vain."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._least: tuple[int, int] | None = None
        self._since = 0.0

    def is_in_vain(self, remaining: Remaining, now: float) -> bool:
        """Whether there was no progress for too long; call it at every look."""
        found = remaining.unbegun, remaining.offsets
        if self._least is None or found < self._least:
            self._least, self._since = found, now
        return now - self._since > self.patience_s

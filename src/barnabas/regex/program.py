"""A pattern as a non-deterministic automaton, after Thompson.

Each state is one instruction: read a character of a set, go on in two places, check for the start
or the end, or match. Repetitions with bounds are written out, so the size is limited; so is the
work, since repetitions of nothing add no states.
"""

from dataclasses import dataclass, field

from barnabas.regex.chars import Chars
from barnabas.regex.syntax import (
    Anchor,
    Choice,
    InvalidPattern,
    Node,
    Repeat,
    Sequence,
)

_WRITES_PER_STATE = 20
"""Repetitions of nothing write no states, and take time."""

MATCH = 0
"""The last state."""


@dataclass(frozen=True, slots=True)
class Read:
    chars: Chars
    then: int


@dataclass(frozen=True, slots=True)
class Check:
    """Go on at the start of the name, or at its end."""

    is_start: bool
    then: int


@dataclass(slots=True)
class Split:
    then: list[int] = field(default_factory=list)


State = Read | Check | Split


class Program:
    """The states of a pattern, and the first of them. Written from the end to the start."""

    __slots__ = ("_max_states", "_writes", "first", "states")

    def __init__(self, node: Node, max_states: int) -> None:
        """Raises `InvalidPattern` if it is too large."""
        self.states: list[State] = [Split()]
        self._max_states = max_states
        self._writes = 0
        self.first = self._write(node, MATCH)

    def _add(self, state: State) -> int:
        if len(self.states) >= self._max_states:
            raise InvalidPattern(f"the pattern is too large: more than {self._max_states} states")
        self.states.append(state)
        return len(self.states) - 1

    def _write(self, node: Node, then: int) -> int:
        """The state in which `node` begins; it goes on with `then`."""
        self._writes += 1
        if self._writes > _WRITES_PER_STATE * self._max_states:
            raise InvalidPattern("the pattern is too large: too many repetitions")
        match node:
            case Chars():
                return self._add(Read(node, then))
            case Anchor(is_start):
                return self._add(Check(is_start, then))
            case Sequence(items):
                for item in reversed(items):
                    then = self._write(item, then)
                return then
            case Choice(items):
                return self._add(Split([self._write(item, then) for item in items]))
            case Repeat(item, least, most):
                return self._repeat(item, least, most, then)

    def _repeat(self, item: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = Split([then])
            again = self._add(loop)
            loop.then.append(self._write(item, again))
            then = again
        else:
            end = then
            for _ in range(most - least):
                then = self._add(Split([self._write(item, then), end]))
        for _ in range(least):
            then = self._write(item, then)
        return then

"""Matches names with a pattern: all states of the automaton at once, with a cache of steps.

The set of states after a character depends on the set before and the character alone. These steps
are kept, as a deterministic automaton that grows as it is used, up to a limit.
"""

from collections.abc import Generator
from functools import cached_property

from barnabas.regex.chars import Chars
from barnabas.regex.program import MATCH, Check, Program, Read, Split
from barnabas.regex.syntax import parse

_MAX_KEPT = 50_000
"""States in all steps that are kept: some megabytes."""

_STEP = 50
"""Characters in one step of `matching`, if what follows them is kept; a few microseconds."""
_NEW = 20
"""As many such characters as a state costs for a character that is new to it."""

States = frozenset[int]


class LinearPattern:
    """A pattern with at most `max_states`, which is what a character may cost.

    Raises `InvalidPattern`.
    """

    def __init__(self, pattern: str, max_states: int = 1_000) -> None:
        self.pattern = pattern
        self._program = Program(parse(pattern, 2 * max_states), max_states)
        self._steps: dict[tuple[States, str], States] = {}
        self._kept = 0

    @property
    def size(self) -> int:
        """The states of the automaton: what a character may cost."""
        return len(self._program.states)

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the whole name."""
        matching = self.matching(name)
        while True:
            try:
                next(matching)
            except StopIteration as matched:
                return bool(matched.value)

    def matching(self, name: str) -> Generator[None, None, bool]:
        """As `matches`, but yields once for every few microseconds that it takes, so that the
        caller can stop in between: a name may be long, and new to a large pattern."""
        states = self._first
        left = _STEP
        for character in name:
            if not states:
                return False
            left -= 1
            while left <= 0:
                left += _STEP
                yield
            step = (states, character)
            after = self._steps.get(step)
            if after is None:
                if self._kept >= _MAX_KEPT:
                    self._steps.clear()
                    self._kept = 0
                left -= _NEW * len(states)
                after = self._steps[step] = self._read(states, character)
                self._kept += 1 + len(after)
            states = after
        return MATCH in states or MATCH in self._reach(states, is_start=not name, is_end=True)

    @cached_property
    def _first(self) -> States:
        return self._reach([self._program.first], is_start=True)

    def _read(self, states: States, character: str) -> States:
        after = []
        known: dict[Chars, bool] = {}  # an item that is repeated is in many states
        for number in states:
            state = self._program.states[number]
            if isinstance(state, Read):
                has = known.get(state.chars)
                if has is None:
                    has = known[state.chars] = state.chars.has(character)
                if has:
                    after.append(state.then)
        return self._reach(after)

    def _reach(
        self, numbers: list[int] | States, *, is_start: bool = False, is_end: bool = False
    ) -> States:
        """All states that are reached without reading a character."""
        states = self._program.states
        found = set(numbers)
        to_do = list(found)
        while to_do:
            state = states[to_do.pop()]
            match state:
                case Split(then):
                    more = then
                case Check(check_start, after) if is_start if check_start else is_end:
                    more = [after]
                case _:
                    continue
            for number in more:
                if number not in found:
                    found.add(number)
                    to_do.append(number)
        return frozenset(found)

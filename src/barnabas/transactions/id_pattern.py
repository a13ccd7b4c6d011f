"""Regular expressions for transactional ids, matched in time linear in the length of the id.

Patterns come from clients, and a pattern of ten characters can make Python's `re` backtrack for
years. Kafka uses RE2, which never backtracks, and this does not either: a pattern becomes a
nondeterministic automaton, and the sets of states that occur are cached as states of a
deterministic one.

```
x  .  [a-z]  [^a-z]  \\d \\D \\w \\W \\s \\S  \\.  ^  $
a|b  (a)  (?:a)  a*  a+  a?  a{2}  a{2,}  a{2,5}
```

A lazy quantifier means the same as a greedy one, as the whole id has to match. `(?i)` at the
beginning ignores case. Other syntax of RE2 (other flags, \\p, \\Q, named classes) is refused.
"""

import re
from collections.abc import Iterable

_MAX_SIZE = 300
"""Repetitions are expanded, so `((a{99}){99}){99}` would have a million states."""
_MAX_LENGTH = 4_000
"""Characters, as those of a class have no states."""
_MAX_DEPTH = 100
_MAX_REMEMBERED = 10_000
"""How many steps of the deterministic automaton are cached before the cache is cleared."""

_ACCEPT = 0
_CLASSES = "dDwWsS"
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}

_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,4})(?:(,)(\d{1,4})?)?\})\??", re.ASCII)

Alternatives = list[list["Repeated"]]


class InvalidPattern(ValueError):  # noqa: N818 - names what the pattern is
    """The pattern is not a regular expression, or uses syntax that is not supported."""


class Repeated:
    """An atom, from `least` to `most` times, or without a limit."""

    __slots__ = ("atom", "least", "most")

    def __init__(self, atom: "str | re.Pattern[str] | Alternatives", least: int, most: int | None):
        self.atom = atom
        """The assertion `^` or `$`, a class of characters, or alternatives."""
        self.least = least
        self.most = most


class IdPattern:
    """Raises `InvalidPattern`."""

    __slots__ = ("_remembered", "_size", "_splits", "_start", "_takes")

    def __init__(self, pattern: str) -> None:
        # A state takes a character or asserts something, and leads to the next state; or it splits
        # into several states.
        self._takes: dict[int, tuple[str | re.Pattern[str], int]] = {}
        self._splits: dict[int, list[int]] = {_ACCEPT: []}
        self._remembered: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._size = 1
        first = self._alternatives(_Parser(pattern).parse(), _ACCEPT)
        self._start = self._closure([first], "^")

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        states = self._start
        for character in text:
            key = states, character
            following = self._remembered.get(key)
            if following is None:
                following = self._step(states, character)
                if len(self._remembered) >= _MAX_REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = following
            if not following:
                return False
            states = following
        asserted = "$" if text else "^$"
        return _ACCEPT in self._closure(states, asserted)

    # -- the automaton, built from its end ------------------------------------------------------

    def _state(self) -> int:
        self._grow()
        return len(self._takes) + len(self._splits)

    def _grow(self) -> None:
        self._size += 1
        if self._size > _MAX_SIZE:
            raise InvalidPattern("the pattern is too large")

    def _split(self, *following: int) -> int:
        state = self._state()
        self._splits[state] = list(following)
        return state

    def _alternatives(self, alternatives: Alternatives, following: int) -> int:
        starts = []
        for sequence in alternatives:
            start = following
            for repeated in reversed(sequence):
                start = self._repeated(repeated, start)
            starts.append(start)
        return starts[0] if len(starts) == 1 else self._split(*starts)

    def _repeated(self, repeated: Repeated, following: int) -> int:
        if repeated.most is None:
            loop = self._split(following)
            self._splits[loop].append(self._atom(repeated, loop))
            start = loop
        else:
            start = following
            for _ in range(repeated.most - repeated.least):
                start = self._split(following, self._atom(repeated, start))
        for _ in range(repeated.least):
            start = self._atom(repeated, start)
        return start

    def _atom(self, repeated: Repeated, following: int) -> int:
        if isinstance(repeated.atom, list):
            self._grow()
            return self._alternatives(repeated.atom, following)
        state = self._state()
        self._takes[state] = repeated.atom, following
        return state

    # -- running it -----------------------------------------------------------------------------

    def _step(self, states: frozenset[int], character: str) -> frozenset[int]:
        return self._closure(
            self._takes[state][1]
            for state in states
            if state in self._takes and _takes(self._takes[state][0], character)
        )

    def _closure(self, states: Iterable[int], asserted: str = "") -> frozenset[int]:
        """These states, and all that are reached from them without taking a character."""
        found: set[int] = set()
        todo = list(states)
        while todo:
            state = todo.pop()
            if state in found:
                continue
            found.add(state)
            todo += self._splits.get(state, ())
            taken, following = self._takes.get(state, ("", state))
            if isinstance(taken, str) and taken and taken in asserted:
                todo.append(following)
        return frozenset(found)


def _takes(taken: str | re.Pattern[str], character: str) -> bool:
    return isinstance(taken, re.Pattern) and taken.fullmatch(character) is not None


class _Parser:
    def __init__(self, pattern: str) -> None:
        if len(pattern) > _MAX_LENGTH:
            raise InvalidPattern(
                f"the pattern has {len(pattern)} characters, at most {_MAX_LENGTH} are allowed"
            )
        self._flags: re.RegexFlag = re.ASCII
        if pattern.startswith("(?i)"):
            pattern = pattern[4:]
            self._flags |= re.IGNORECASE
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._atoms = 0

    def parse(self) -> Alternatives:
        found = self._alternatives()
        if self._at < len(self._pattern):
            raise InvalidPattern("unbalanced )")
        return found

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise InvalidPattern("the pattern ends too early")
        self._at += 1
        return character

    def _alternatives(self) -> Alternatives:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise InvalidPattern("the pattern is nested too deeply")
        found: Alternatives = [[]]
        while self._peek() not in ("", ")"):
            if self._peek() == "|":
                self._at += 1
                found.append([])
            else:
                found[-1].append(self._repeated())
        self._depth -= 1
        return found

    def _repeated(self) -> Repeated:
        repeated = Repeated(self._atom(), 1, 1)
        quantifier = _QUANTIFIER.match(self._pattern, self._at)
        if quantifier is None:
            return repeated
        self._at = quantifier.end()
        sign, least, comma, most = quantifier.groups()
        if sign:
            repeated.least, repeated.most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            repeated.least = int(least)
            repeated.most = int(most) if most else None if comma else int(least)
        if repeated.most is not None and repeated.most < repeated.least:
            raise InvalidPattern("a repetition has a minimum above its maximum")
        if _QUANTIFIER.match(self._pattern, self._at):
            raise InvalidPattern("a quantifier follows a quantifier")
        return repeated

    def _atom(self) -> str | re.Pattern[str] | Alternatives:
        self._atoms += 1
        if self._atoms > _MAX_SIZE:  # before each is compiled, which takes longer than all else
            raise InvalidPattern("the pattern is too large")
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._compiled(self._class())
        if character == "\\":
            return self._compiled(self._escape())
        if character in "*+?":
            raise InvalidPattern("a quantifier has nothing to repeat")
        if character in "^$":
            return character
        return self._compiled("." if character == "." else re.escape(character))

    def _group(self) -> Alternatives:
        if self._peek() == "?":
            if not self._pattern.startswith("?:", self._at):
                raise InvalidPattern("unsupported kind of group")
            self._at += 2
        found = self._alternatives()
        if self._peek() != ")":
            raise InvalidPattern("missing )")
        self._at += 1
        return found

    def _escape(self) -> str:
        character = self._next()
        if character in _CLASSES:
            return f"\\{character}"
        if character in _CONTROLS:
            return re.escape(_CONTROLS[character])
        if character.isalnum():
            raise InvalidPattern(f"unsupported escape \\{character}")
        return re.escape(character)

    def _class(self) -> str:
        """Escaped, so that no character has a special meaning in Python only."""
        written = "["
        if self._peek() == "^":
            written += self._next()
        is_first = True
        while is_first or self._peek() != "]":
            character = self._next()
            if character == "[" and self._peek() == ":":
                raise InvalidPattern("named classes are not supported")
            if character == "\\":
                written += self._escape()
            else:
                written += character if character in "-^" else re.escape(character)
            is_first = False
        self._at += 1
        return f"{written}]"

    def _compiled(self, one_character: str) -> re.Pattern[str]:
        try:
            return re.compile(one_character, self._flags)
        except re.error as error:
            raise InvalidPattern(str(error)) from error

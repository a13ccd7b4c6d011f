r"""RE2's syntax, parsed into a tree.

Known are: literals, `.`, classes (`[a-z]`, `[^...]`, `[[:alpha:]]`, `\d \w \s` and their
complements), groups (plain, named, `(?:...)`, with the flags i, m, s, U), `|`, `* + ? {n} {n,}
{n,m}` (also the lazy ones), `^ $ \A \z`, escapes, `\Q...\E`. All else is refused: what RE2 refuses
too, such as backreferences and lookarounds, and `\b`, `\B`, `\C` and classes of Unicode.
"""

from dataclasses import dataclass

from barnabas.regex.chars import Chars, Ranges, between, complement, merged, of

MAX_LENGTH = 4_000
"""Characters: those of a class have no states."""
MAX_REPEAT = 1_000
MAX_DEPTH = 50
"""Of groups within groups."""


class InvalidPattern(ValueError):  # noqa: N818 - says what the pattern is
    """The pattern is not one of RE2's syntax, or not one that is known here."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start or the end of the name."""

    is_start: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    item: "Node"
    least: int
    most: int | None


Node = Chars | Anchor | Sequence | Choice | Repeat


_DIGIT = between("0", "9")
_LOWER, _UPPER = between("a", "z"), between("A", "Z")
_ALPHA = _UPPER + _LOWER
_WORD = merged((*_DIGIT, *_ALPHA, *of("_")))
_SPACE = of("\t\n\f\r ")
_PERL = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX = {
    "alnum": _DIGIT + _ALPHA,
    "alpha": _ALPHA,
    "ascii": between("\0", "\x7f"),
    "blank": of("\t "),
    "cntrl": between("\0", "\x1f") + of("\x7f"),
    "digit": _DIGIT,
    "graph": between("!", "~"),
    "lower": _LOWER,
    "print": between(" ", "~"),
    "punct": between("!", "/") + between(":", "@") + between("[", "`") + between("{", "~"),
    "space": of("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": _DIGIT + between("A", "F") + between("a", "f"),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse(pattern: str, max_items: int) -> Node:
    """Raises `InvalidPattern`."""
    if len(pattern) > MAX_LENGTH:
        raise InvalidPattern(
            f"the pattern has {len(pattern)} characters, at most {MAX_LENGTH} are allowed"
        )
    return _Parser(pattern, max_items).parse()


class _Parser:
    def __init__(self, pattern: str, max_items: int) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._items_left = max_items
        self._ignores_case = self._dot_is_all = False

    def parse(self) -> Node:
        node = self._choice()
        if self._at < len(self._pattern):
            raise self._error("unexpected )")
        return node

    def _error(self, what: str) -> InvalidPattern:
        return InvalidPattern(f"{what} at position {self._at} of {self._pattern!r}")

    def _peek(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._error("unexpected end")
        self._at += 1
        return self._pattern[self._at - 1]

    def _until(self, text: str) -> str:
        end = self._pattern.find(text, self._at)
        if end < 0:
            raise self._error(f"missing {text}")
        found = self._pattern[self._at : end]
        self._at = end + len(text)
        return found

    # -- structure ---------------------------------------------------------------------------------

    def _choice(self) -> Node:
        flags = self._ignores_case, self._dot_is_all
        items = [self._sequence()]
        while self._take("|"):
            items.append(self._sequence())
        self._ignores_case, self._dot_is_all = flags  # they end with their group
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def _sequence(self) -> Node:
        self._count()
        items: list[Node] = []
        item: Node | None
        while self._at < len(self._pattern) and not self._peek("|") and not self._peek(")"):
            if self._take(r"\Q"):
                quoted = self._quoted()
                item = quoted.pop() if quoted else None
                items += quoted
            else:
                item = self._item()
            if item is not None:
                items.append(self._repeated(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _quoted(self) -> list[Chars]:
        text = self._until(r"\E") if r"\E" in self._pattern[self._at :] else None
        if text is None:
            text, self._at = self._pattern[self._at :], len(self._pattern)
        return [self._literal(character) for character in text]

    def _repeated(self, item: Node) -> Node:
        is_repeated = False
        while (bounds := self._bounds()) is not None:
            if is_repeated:
                raise self._error("repeated repetition")
            is_repeated = True
            item = Repeat(item, *bounds)
            self._take("?")  # lazy: of no meaning for a match of the whole name
        return item

    def _bounds(self) -> tuple[int, int | None] | None:
        for text, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(text):
                return bounds
        if not self._peek("{"):
            return None
        end = self._pattern.find("}", self._at)
        least, comma, most = self._pattern[self._at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_number(least) or not (not most or _is_number(most)):
            return None  # a literal brace
        low = int(least)
        high = low if not comma else (int(most) if most else None)
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise self._error("invalid repetition")
        self._at = end + 1
        return low, high

    def _count(self) -> None:
        """Before an item is parsed, which takes longer than to refuse it."""
        self._items_left -= 1
        if self._items_left < 0:
            raise InvalidPattern("the pattern is too large: too many characters")

    def _item(self) -> Node | None:
        self._count()
        if self._bounds() is not None:
            raise self._error("nothing to repeat")
        character = self._next()
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return Chars(() if self._dot_is_all else of("\n"), is_negated=True)
            case "^":
                return Anchor(is_start=True)
            case "$":
                return Anchor(is_start=False)
            case "\\":
                return self._escape()
        return self._literal(character)

    def _group(self) -> Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error("groups are nested too deeply")
        flags = self._ignores_case, self._dot_is_all
        if self._take("?P<") or (
            self._peek("?<") and not self._is_lookbehind() and self._take("?<")
        ):
            if not self._until(">").isidentifier():
                raise self._error("invalid name of a group")
        elif self._take("?") and self._flags():
            self._depth -= 1
            return None
        node = self._choice()
        if not self._take(")"):
            raise self._error("missing )")
        self._depth -= 1
        self._ignores_case, self._dot_is_all = flags
        return node

    def _is_lookbehind(self) -> bool:
        return self._peek("?<=") or self._peek("?<!")

    def _flags(self) -> bool:
        """Read `i)`, `-i:` and the like; returns whether the group ends with its flags."""
        is_set = True
        while True:
            match self._next():
                case "i":
                    self._ignores_case = is_set
                case "s":
                    self._dot_is_all = is_set
                case "m" | "U":
                    pass  # lines and laziness: of no meaning for a match of the whole name
                case "-" if is_set:
                    is_set = False
                case ":":
                    return False
                case ")":
                    return True
                case _:
                    raise self._error("unsupported group")

    # -- characters --------------------------------------------------------------------------------

    def _literal(self, character: str) -> Chars:
        return Chars(of(character), ignores_case=self._ignores_case)

    def _escape(self) -> Node:
        character = self._next()
        if character == "A":
            return Anchor(is_start=True)
        if character == "z":
            return Anchor(is_start=False)
        if character.lower() in _PERL:
            return Chars(_PERL[character.lower()], is_negated=character.isupper())
        return self._literal(self._escaped(character))

    def _escaped(self, character: str) -> str:
        """The character that an escape stands for."""
        if character in _CONTROL:
            return _CONTROL[character]
        if character == "x":
            digits = self._until("}") if self._take("{") else self._next() + self._next()
            try:
                return chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise self._error("invalid escape") from None
        if character.isalnum():
            raise self._error(f"unsupported escape \\{character}")
        return character

    def _class(self) -> Chars:
        is_negated = self._take("^")
        found: list[tuple[int, int]] = []
        is_first = True
        while is_first or not self._peek("]"):
            is_first = False
            if self._take("[:"):
                found += self._posix(self._until(":]"))
                continue
            first = self._class_item()
            if not isinstance(first, str):
                found += first
                continue
            last = first
            if self._peek("-") and not self._peek("-]"):
                self._at += 1
                end = self._class_item()
                if not isinstance(end, str) or end < first:
                    raise self._error("invalid range")
                last = end
            found += between(first, last)
        self._at += 1
        return Chars(merged(found), is_negated, self._ignores_case)

    def _class_item(self) -> str | Ranges:
        """A character, or a class."""
        character = self._next()
        if character != "\\":
            return character
        escape = self._next()
        return _perl(escape) if escape.lower() in _PERL else self._escaped(escape)

    def _posix(self, name: str) -> Ranges:
        found = _POSIX.get(name.removeprefix("^"))
        if found is None:
            raise self._error(f"unknown class [:{name}:]")
        return complement(found) if name.startswith("^") else found


def _perl(letter: str) -> Ranges:
    found = _PERL[letter.lower()]
    return found if letter.islower() else complement(found)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 4

"""Columns that a generator makes, by a rule each: `id BIGINT sequence, user STRING choice(a, b)`.

A value depends on the seed, the column and the number of the row, and on nothing else, so the same
row comes again when it is read again. Spark computes the values, not Python.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.errors import InvalidArgument

NUMBER: Final = "n"
DUE: Final = "due"

_COLUMN = re.compile(
    r"`?(\w+)`?\s+(\w+(?:\s*\([\d\s,]*\))?)(?:\s+(\w+)\s*(?:\((.*)\))?)?$", re.DOTALL
)
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG"})
_REAL: Final = frozenset({"FLOAT", "DOUBLE", "DECIMAL"})
_TIMES: Final = frozenset({"TIMESTAMP", "DATE"})
_TEXT: Final = frozenset({"STRING"})
_ALL: Final = _WHOLE | _REAL | _TIMES | _TEXT | {"BOOLEAN"}
_UNIT = 1 << 53
_DIGEST = 32
_UNITS_US: Final = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_DEFAULTS: Final = {"TIMESTAMP": ("now", ()), "BOOLEAN": ("choice", ("true", "false"))}
_DEFAULT_RANGES: Final = {"DATE": ("2026-01-01", "2026-12-31"), "TINYINT": ("0", "100")}


@dataclass(frozen=True)
class GeneratedColumn:
    """A column, its type, and the rule by which it gets its values."""

    name: str
    type: str
    rule: str
    arguments: tuple[str, ...]

    def __post_init__(self) -> None:
        rule = _RULES.get(self.rule)
        if rule is None:
            raise self._wrong(f"unknown rule {self.rule!r}; use {', '.join(_RULES)}")
        if self.kind not in rule.types:
            raise self._wrong(f"{self.rule} is for {', '.join(sorted(rule.types))}")
        if not rule.least <= len(self.arguments) <= rule.most:
            raise self._wrong(f"write {rule.usage}")
        try:
            rule.check(self)
        except ValueError as error:
            raise self._wrong(f"{error}; write {rule.usage}") from None

    @property
    def kind(self) -> str:
        return self.type.partition("(")[0].strip().upper()

    def values(self, seed: int) -> Column:
        """Its values, from the columns `NUMBER` and `DUE`."""
        made = _RULES[self.rule].values(self, seed)
        return made.cast(self.type).alias(self.name)

    def random(self, seed: int, salt: str = "") -> Column:
        """A number of [0, 1) for each row."""
        hashed = F.xxhash64(F.col(NUMBER), F.lit(seed), F.lit(self.name + salt))
        return F.pmod(hashed, F.lit(_UNIT)) / F.lit(float(_UNIT))

    def digest(self, seed: int, salt: int = 0) -> Column:
        return F.md5(F.concat_ws("/", F.lit(f"{seed}/{self.name}/{salt}"), F.col(NUMBER)))

    def _wrong(self, why: str) -> InvalidArgument:
        return InvalidArgument(f"column {self.name} {self.type} {self.rule}: {why}")


def generated_columns(text: str) -> tuple[GeneratedColumn, ...]:
    """The columns of a definition; raises `InvalidArgument`."""
    found = tuple(_column(each) for each in _split(text))
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"column {name} is defined twice")
    if not found:
        raise InvalidArgument('name columns, as "id BIGINT sequence, user STRING choice(a, b)"')
    return found


def _column(text: str) -> GeneratedColumn:
    match = _COLUMN.match(text)
    if match is None:
        raise InvalidArgument(
            f"{text!r}: write a column as NAME TYPE rule(...), as id BIGINT sequence"
        )
    name, of_type, rule, arguments = match.groups()
    kind = of_type.partition("(")[0].strip().upper()
    if kind not in _ALL:
        raise InvalidArgument(
            f"column {name}: type {of_type} can't be generated; use {', '.join(sorted(_ALL))}"
        )
    if rule is not None:
        return GeneratedColumn(name, of_type, rule.lower(), _split(arguments or ""))
    if kind in _DEFAULTS:
        default, given = _DEFAULTS[kind]
        return GeneratedColumn(name, of_type, default, tuple(given))
    if kind in _TEXT:
        return GeneratedColumn(name, of_type, "text", ("8",))
    limits = _DEFAULT_RANGES.get(kind, ("0", "1000" if kind in _WHOLE else "1"))
    return GeneratedColumn(name, of_type, "uniform", limits)


def _split(text: str) -> tuple[str, ...]:
    """Parts between commas that are not within parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(each.strip() for each in parts if each.strip())


# -- rules ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    usage: str
    types: frozenset[str]
    least: int
    most: int
    check: Callable[[GeneratedColumn], object]
    values: Callable[[GeneratedColumn, int], Column]


def _sequence(column: GeneratedColumn, _seed: int) -> Column:
    start, step = (*map(int, column.arguments), *(0, 1)[len(column.arguments) :])
    return F.lit(start) + F.col(NUMBER) * F.lit(step)


def _choice(column: GeneratedColumn, seed: int) -> Column:
    choices = F.array(*(F.lit(each) for each in column.arguments))
    index = F.floor(column.random(seed) * len(column.arguments)) + 1
    return F.element_at(choices, index.cast("int"))


def _uniform(column: GeneratedColumn, seed: int) -> Column:
    random = column.random(seed)
    if column.kind in _TIMES:
        low, high = map(_micros, column.arguments)
        return F.timestamp_micros((F.lit(low) + random * float(high - low)).cast("bigint"))
    if column.kind in _WHOLE:
        first, last = map(int, column.arguments)
        return F.lit(first) + F.floor(random * float(last - first + 1))
    least, most = map(float, column.arguments)
    return F.lit(least) + random * (most - least)


def _normal(column: GeneratedColumn, seed: int) -> Column:
    mean, deviation = map(float, column.arguments)
    radius = F.sqrt(-2.0 * F.log(1.0 - column.random(seed)))
    return F.lit(mean) + radius * F.cos(column.random(seed, "'") * 6.283185307179586) * deviation


def _text(column: GeneratedColumn, seed: int) -> Column:
    length = int(column.arguments[0])
    digests = (column.digest(seed, part) for part in range(-(-length // _DIGEST)))
    return F.substring(F.concat(*digests), 1, length)


def _uuid(column: GeneratedColumn, seed: int) -> Column:
    groups = "^(.{8})(.{4}).(.{3}).(.{3})(.{12})$"
    return F.regexp_replace(column.digest(seed), groups, "$1-$2-4$3-8$4-$5")


def _timestamps(column: GeneratedColumn, _seed: int) -> Column:
    start, step = _micros(column.arguments[0]), _length_us(column.arguments[1])
    return F.timestamp_micros(F.lit(start) + F.col(NUMBER) * F.lit(step))


def _micros(text: str) -> int:
    at = datetime.fromisoformat(text)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return round(at.timestamp()) * 1_000_000 + at.microsecond


def _length_us(text: str) -> int:
    number, _, unit = text.partition(" ")
    if not number.isdecimal() or unit.strip().removesuffix("s") not in _UNITS_US:
        raise ValueError(f"{text!r} is not a duration such as 1 second")
    return int(number) * _UNITS_US[unit.strip().removesuffix("s")]


def _check_range(column: GeneratedColumn) -> None:
    convert: Callable[[str], float] = float
    if column.kind in _TIMES:
        convert = _micros
    elif column.kind in _WHOLE:
        convert = int
    low, high = map(convert, column.arguments)
    if low > high:
        raise ValueError(f"{column.arguments[0]} is more than {column.arguments[1]}")


def _check_length(column: GeneratedColumn) -> None:
    if not 1 <= int(column.arguments[0]) <= 10_000:
        raise ValueError("a length is 1 to 10000")


def _check_nothing(_column: GeneratedColumn) -> None:
    pass


_MANY: Final = 10_000
_RULES: Final = {
    "sequence": _Rule(
        "sequence, sequence(START) or sequence(START, STEP)",
        _WHOLE | _TEXT,
        0,
        2,
        lambda column: [int(each) for each in column.arguments],
        _sequence,
    ),
    "choice": _Rule("choice(A, B, ...)", _ALL, 1, _MANY, _check_nothing, _choice),
    "uniform": _Rule("uniform(LOW, HIGH)", _WHOLE | _REAL | _TIMES, 2, 2, _check_range, _uniform),
    "normal": _Rule(
        "normal(MEAN, DEVIATION)",
        _WHOLE | _REAL,
        2,
        2,
        lambda column: [float(each) for each in column.arguments],
        _normal,
    ),
    "text": _Rule("text(LENGTH)", _TEXT, 1, 1, _check_length, _text),
    "uuid": _Rule("uuid", _TEXT, 0, 0, _check_nothing, _uuid),
    "timestamps": _Rule(
        "timestamps(START, STEP), as timestamps(2026-01-01T00:00:00Z, 1 second)",
        frozenset({"TIMESTAMP"}),
        2,
        2,
        lambda column: (_micros(column.arguments[0]), _length_us(column.arguments[1])),
        _timestamps,
    ),
    "now": _Rule("now", _TIMES, 0, 0, _check_nothing, lambda _column, _seed: F.col(DUE)),
}

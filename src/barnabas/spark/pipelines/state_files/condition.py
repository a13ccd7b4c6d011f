"""Simple conditions in SQL, such as `word = 'kafka' AND count > 3`, without Spark.

They compare columns with strings or numbers and are joined by AND. All others, and comparisons
in which SQL would convert a type, are left to Spark.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_COMPARISON = re.compile(
    r"\s*(?P<column>[A-Za-z_]\w*|`[^`]+`)\s*(?P<operator><=|>=|<>|!=|==|=|<|>)\s*"
    r"(?:'(?P<text>[^'\\]*)'|(?P<number>-?\d+(?:\.\d+)?))\s*(?P<next>AND\b|$)",
    re.IGNORECASE,
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = (int, float, Decimal)


def matching(
    rows: Iterable[list[Any]], columns: Sequence[str], condition: str
) -> Iterator[list[Any]]:
    """The rows that match; raises `UnreadableState` if only Spark can decide."""
    comparisons = list(_comparisons(condition, [each.lower() for each in columns]))
    for row in rows:
        if all(_holds(row[at], compare, literal) for at, compare, literal in comparisons):
            yield row


def _comparisons(
    condition: str, columns: list[str]
) -> Iterator[tuple[int, Callable[[Any, Any], bool], str | Decimal]]:
    at, joined = 0, True
    while joined:
        found = _COMPARISON.match(condition, at)
        if found is None:
            raise UnreadableState(f"the condition {condition!r}")
        column = found["column"].strip("`").lower()
        if columns.count(column) != 1:
            raise UnreadableState(f"no single column {column!r}")
        literal = Decimal(found["number"]) if found["text"] is None else found["text"]
        yield columns.index(column), _OPERATORS[found["operator"]], literal
        at, joined = found.end(), bool(found["next"])


def _holds(value: Any, compare: Callable[[Any, Any], bool], literal: str | Decimal) -> bool:
    """Whether a comparison is true: NULL compares with nothing."""
    if value is None:
        return False
    is_alike = (
        isinstance(value, str)
        if isinstance(literal, str)
        else isinstance(value, _NUMBERS) and not isinstance(value, bool)
    )
    if not is_alike:
        raise UnreadableState(f"a comparison of {type(value).__name__} with {literal!r}")
    return compare(value, literal)

"""The conditions of a plan that a reader can check: comparisons of columns with constants.

Only what means the same in Spark and in Arrow is taken: whole numbers, booleans, and strings that
are equal byte by byte. What is left out of an AND makes the condition weaker, which is right. The
names of expressions are Spark's own, and pinned down by tests.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from barnabas.spark.decoding.decoding import Path
from barnabas.spark.source.record_decoding import PREFIX
from barnabas.spark.source.row_condition import Comparison, Condition, Operator, Value, condition_of

_OPERATORS: dict[str, Operator] = {
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = {"tinyint", "smallint", "int", "bigint"}
_EQUAL_ONLY = {"string", "boolean"}
_MOST_GROUPS = 8
"""Of a condition that is worth the time to check it."""


def kind_of(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


def each_of(sequence: Any) -> Iterator[Any]:
    for index in range(sequence.size()):
        yield sequence.apply(index)


def path_of(expression: Any, columns: dict[int, str]) -> Path | None:
    """The column, or the field inside one, that an expression is; None if it is another."""
    path: list[str] = []
    while kind_of(expression) == "GetStructField":
        path.insert(0, expression.childSchema().fieldNames()[expression.ordinal()])
        expression = expression.child()
    if kind_of(expression) != "AttributeReference":
        return None
    name = columns.get(expression.exprId().id())
    return None if name is None else (name, *path)


def plan_condition(filters: Iterable[Any], columns: dict[int, str]) -> Condition | None:
    """What rows have to meet to pass all of some filters; None: nothing that a reader can check."""
    groups: list[list[Comparison]] = [[]]
    for expression in filters:
        found = _groups(expression, columns)
        groups = [[*one, *other] for one in groups for other in found]
        if len(groups) > _MOST_GROUPS:
            return None
    return condition_of(groups) if all(groups) else None


def _groups(expression: Any, columns: dict[int, str]) -> list[list[Comparison]]:
    """Groups of comparisons, of which one is true if the expression is; one may be empty."""
    if kind_of(expression) == "Or":
        return [
            *_groups(expression.left(), columns),
            *_groups(expression.right(), columns),
        ]
    return [list(_comparisons(expression, columns))]


def _comparisons(expression: Any, columns: dict[int, str]) -> Iterator[Comparison]:
    """Comparisons that are true if the expression is."""
    kind = kind_of(expression)
    if kind == "And":
        yield from _comparisons(expression.left(), columns)
        yield from _comparisons(expression.right(), columns)
        return
    found: Comparison | None = None
    if kind == "IsNotNull":
        path = path_of(expression.child(), columns)
        found = None if path is None else Comparison("is not null", path)
    elif kind == "In":
        values = [_literal(each) for each in each_of(expression.list())]
        found = _comparison("in", expression.value(), values, columns)
    elif kind in _OPERATORS:
        operator, left, right = _OPERATORS[kind], expression.left(), expression.right()
        if kind_of(left) == "Literal":
            operator, left, right = _MIRRORED[operator], right, left
        found = _comparison(operator, left, [_literal(right)], columns)
    # The record's own columns are not made where they are not used.
    if found is not None and not found.path[0].startswith(PREFIX):
        yield found


def _comparison(
    operator: Operator,
    compared: Any,
    literals: list[tuple[str, Value] | None],
    columns: dict[int, str],
) -> Comparison | None:
    modulus = None
    if kind_of(compared) == "Remainder":
        divisor = _literal(compared.right())
        compared = compared.left()
        if divisor is None or divisor[0] not in _NUMBERS or int(divisor[1]) <= 0:
            return None
        modulus = int(divisor[1])
    path = path_of(compared, columns)
    known = [each for each in literals if each is not None]
    if path is None or not known or len(known) < len(literals):
        return None
    of_type = str(compared.dataType().simpleString())
    has_order = operator not in ("=", "in")
    if of_type not in (_NUMBERS if has_order else _NUMBERS | _EQUAL_ONLY):
        return None
    if any(each[0] != of_type for each in known):
        return None
    return Comparison(operator, path, tuple(each[1] for each in known), modulus)


def _literal(expression: Any) -> tuple[str, Value] | None:
    """Type and value of a constant that can be compared; None if it is something else."""
    if kind_of(expression) != "Literal" or expression.value() is None:
        return None
    of_type, value = str(expression.dataType().simpleString()), expression.value()
    if of_type == "string":
        return of_type, str(value.toString())
    if of_type in _NUMBERS or of_type == "boolean":
        return of_type, value
    return None

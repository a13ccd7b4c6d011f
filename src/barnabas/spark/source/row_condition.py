"""Conditions on rows that a reader can check, so that rows that no query wants stay in the worker.

Spark checks the whole condition again. So one that is weaker than the query's is right, and one
that is stronger is wrong: NULL, for example, is equal to nothing, as in SQL.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.spark.decoding.decoding import Path

Operator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "in", "is not null"]
Value: TypeAlias = int | str | bool

_WORTHWHILE = 0.75
"""If more rows than this share are kept, leaving the others out costs more than it saves."""


class Comparison(NamedTuple):
    """A column, or a field inside one, compared with constants: one, or those of `in`."""

    operator: Operator
    path: Path
    values: tuple[Value, ...] = ()
    modulus: int | None = None
    """If given, the remainder of a division by it is compared; its sign is that of the column."""


Condition: TypeAlias = tuple[tuple[Comparison, ...], ...]
"""Rows for which all comparisons of any group are true."""


def condition_of(groups: Iterable[Iterable[Comparison]]) -> Condition:
    """In an order that depends on nothing but the comparisons."""
    found = {tuple(sorted(_without_implied(set(group)), key=repr)) for group in groups}
    return tuple(sorted(found, key=repr))


def _without_implied(group: set[Comparison]) -> set[Comparison]:
    compared = {each.path for each in group if each.operator != "is not null"}
    return {each for each in group if each.operator != "is not null" or each.path not in compared}


def condition_from_json(groups: list[list[list[Any]]]) -> Condition:
    return tuple(
        tuple(
            Comparison(operator, tuple(path), tuple(values), modulus)
            for operator, path, values, modulus in group
        )
        for group in groups
    )


def without_unwanted(rows: pa.RecordBatch, condition: Condition) -> pa.RecordBatch:
    """The rows that meet a condition, or all if nearly all do."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    is_kept = _is_met(columns, condition).fill_null(False)
    kept: int = is_kept.true_count
    return rows if kept > _WORTHWHILE * rows.num_rows else rows.filter(is_kept)


def _is_met(columns: Mapping[str, pa.Array], condition: Condition) -> pa.BooleanArray:
    groups = [
        reduce(pc.and_kleene, [_compared(columns, comparison) for comparison in group])
        for group in condition
    ]
    return reduce(pc.or_kleene, groups)


def _compared(columns: Mapping[str, pa.Array], comparison: Comparison) -> pa.BooleanArray:
    name, *fields = comparison.path
    array = columns[name] if not fields else pc.struct_field(columns[name], fields)
    if comparison.modulus is not None:
        divisor = pa.scalar(comparison.modulus, array.type)
        array = pc.subtract(array, pc.multiply(pc.divide(array, divisor), divisor))
    if comparison.operator == "is not null":
        return array.is_valid()
    values = pa.array(comparison.values, array.type)
    if comparison.operator == "in":
        # NULL is not among the values, and may be left out: Spark would do the same.
        return pc.is_in(array, value_set=values)
    compare = {
        "=": pc.equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }[comparison.operator]
    return compare(array, values[0])

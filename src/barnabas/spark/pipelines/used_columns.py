"""Which columns of its sources a query uses, as Spark's optimizer finds them.

Spark does not tell a Python source which columns it needs. So a pipeline is built once with all of
them and optimized, and the plan shows what is left directly above each source: a projection, maybe
with a filter in between. It is then built again, with sources that make only those columns.
Anything else above a source, or a session whose plans can't be seen, means all columns.

What is used of Spark here is not public API of PySpark, and pinned down by tests: the optimizer of
the session, and the names of plan nodes.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from barnabas.spark.decoding.decoding import Path
from barnabas.spark.source.options import DECODING
from barnabas.spark.source.record_decoding import RecordDecoding

Usage: TypeAlias = tuple[RecordDecoding, set[Path] | None]
"""A source and what is used of it; None: all."""

_SOURCE = "StreamingRelationV2"
_ENDS = {"Project", "Aggregate"}
"""Nodes that pass on nothing but what they name."""
_PASSES = {"Filter", "EventTimeWatermark"}
"""Nodes that pass on what they get."""


def used_columns(rows: DataFrame) -> dict[RecordDecoding, tuple[Path, ...]]:
    """Of each source that decodes values the columns and fields that are used.

    A source of which all are used, or that is not understood, is left out.
    """
    try:
        session: Any = rows.sparkSession._jsparkSession
        analyzed = rows._jdf.queryExecution().analyzed()
    except AttributeError:  # Spark Connect
        return {}
    try:
        plan = session.sessionState().optimizer().execute(analyzed)
        found: dict[RecordDecoding, set[Path] | None] = {}
        for source, paths in _sources(plan, None):
            known = found.setdefault(source, set())
            found[source] = None if known is None or paths is None else known | paths
    except Py4JError:  # an optimizer that is not as expected; the query itself may still run
        return {}
    return {source: tuple(sorted(paths)) for source, paths in found.items() if paths is not None}


def _sources(
    node: Any, above: list[Any] | None
) -> Iterator[tuple[RecordDecoding, set[Path] | None]]:
    """All sources below a node; `above` are the nodes that decide what is used of it."""
    name = node.nodeName()
    if name == _SOURCE:
        option = node.extraOptions().get(DECODING)
        if option is not None:
            decoding = RecordDecoding.from_option(option)
            yield decoding, None if above is None else _paths(node, above)
        return
    if name in _ENDS:
        # One that only leaves columns out does not say which fields of the others are used.
        if above is None or not _only_leaves_out(node):
            above = [node]
    elif above is not None:
        above = [*above, node] if name in _PASSES else None
    for child in _each(node.children()):
        yield from _sources(child, above)


def _only_leaves_out(node: Any) -> bool:
    return all(_kind(each) == "AttributeReference" for each in _each(node.expressions()))


def _paths(source: Any, above: list[Any]) -> set[Path]:
    columns = {each.exprId().id(): each.name() for each in _each(source.output())}
    return {
        path
        for node in above
        for expression in _each(node.expressions())
        for path in _used_by(expression, columns)
    }


def _used_by(expression: Any, columns: dict[int, str]) -> Iterator[Path]:
    """Columns, and where only a field of one is used, that field."""
    path: list[str] = []
    inner = expression
    while _kind(inner) == "GetStructField":
        path.insert(0, inner.childSchema().fieldNames()[inner.ordinal()])
        inner = inner.child()
    if _kind(inner) == "AttributeReference":
        name = columns.get(inner.exprId().id())
        if name is not None:
            yield (name, *path)
        return
    for child in _each(inner.children()):
        yield from _used_by(child, columns)


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


def _each(sequence: Any) -> Iterator[Any]:
    for index in range(sequence.size()):
        yield sequence.apply(index)

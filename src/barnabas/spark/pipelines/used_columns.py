"""Which columns and rows of its sources a query uses, as Spark's optimizer finds them.

Spark does not tell a Python source which columns it needs, nor, in a stream, which rows. So a
pipeline is built once with all of them and optimized, and the plan shows what is left directly
above each source: a projection, maybe with a filter in between. It is then built again, with
sources that make only those columns, and leave out rows that the filters directly above them would.
Anything else above a source, or a session whose plans can't be seen, means all columns and rows.

A filter above a watermark is left to Spark: the rows that it leaves out move the watermark.

What is used of Spark here is not public API of PySpark, and pinned down by tests: the optimizer of
the session, and the names of plan nodes.
"""

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from barnabas.spark.decoding.decoding import Path
from barnabas.spark.pipelines.plan_condition import each_of, kind_of, path_of, plan_condition
from barnabas.spark.source.options import DECODING
from barnabas.spark.source.record_decoding import RecordDecoding
from barnabas.spark.source.source_use import SourceUse

_SOURCE = "StreamingRelationV2"
_ENDS = {"Project", "Aggregate"}
"""Nodes that pass on only the columns that they name."""
_PASSES = {"Filter", "EventTimeWatermark", "CollectMetrics"}
"""Nodes that pass on all columns."""


def used_columns(rows: DataFrame) -> dict[RecordDecoding, SourceUse]:
    """What is used of each source that decodes values; of one that is not understood, all."""
    try:
        session: Any = rows.sparkSession._jsparkSession
        analyzed = rows._jdf.queryExecution().analyzed()
    except AttributeError:  # Spark Connect
        return {}
    try:
        plan = session.sessionState().optimizer().execute(analyzed)
        found: dict[RecordDecoding, SourceUse] = {}
        for source, use in _sources(plan, None, []):
            found[source] = found[source] | use if source in found else use
    except Py4JError:  # an optimizer that is not as expected; the query itself may still run
        return {}
    return found


def _sources(
    node: Any, above: list[Any] | None, filters: list[Any]
) -> Iterator[tuple[RecordDecoding, SourceUse]]:
    """All sources below a node.

    `above` are the nodes that decide which columns are used of it, `filters` the conditions of the
    filters directly above it.
    """
    name = node.nodeName()
    if name == _SOURCE:
        option = node.extraOptions().get(DECODING)
        if option is not None:
            columns = {each.exprId().id(): each.name() for each in each_of(node.output())}
            paths = None if above is None else tuple(sorted(_paths(columns, above)))
            use = SourceUse(paths, plan_condition(filters, columns) if filters else None)
            yield RecordDecoding.from_option(option), use
        return
    if name in _ENDS:
        # A node that only drops columns does not show which fields of the others are used.
        if above is None or not _only_leaves_out(node):
            above = [node]
    elif above is not None:
        above = [*above, node] if name in _PASSES else None
    filters = [*filters, node.condition()] if name == "Filter" else []
    for child in each_of(node.children()):
        yield from _sources(child, above, filters)


def _only_leaves_out(node: Any) -> bool:
    return all(kind_of(each) == "AttributeReference" for each in each_of(node.expressions()))


def _paths(columns: dict[int, str], above: list[Any]) -> set[Path]:
    return {
        path
        for node in above
        for expression in each_of(node.expressions())
        for path in _used_by(expression, columns)
    }


def _used_by(expression: Any, columns: dict[int, str]) -> Iterator[Path]:
    """Columns, and where only a field of one is used, that field."""
    path = path_of(expression, columns)
    if path is not None:
        yield path
        return
    for child in each_of(expression.children()):
        yield from _used_by(child, columns)

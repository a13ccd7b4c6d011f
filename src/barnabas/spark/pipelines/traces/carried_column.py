"""The trace column in the result of a pipeline, also if its function selects other columns only.

Spark's analyzer finds a column that a filter needs below the projections that leave it out, and
adds it to them: `orders.select("id").where(orders.trace_headers...)` is valid. So a filter is
analyzed, and what is below it has the column. Where one row stands for many, or where the rows are
made by Python code, the analyzer refuses, and the result has no traces.

What is used of Spark here is not public API of PySpark, and pinned down by tests.
"""

from collections.abc import Iterable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from barnabas.spark.pipelines.traces.trace_column import TRACE_COLUMN


def with_carried_traces(result: DataFrame, inputs: Iterable[DataFrame]) -> DataFrame:
    """The result with the trace column of the first of these inputs whose rows it has."""
    if TRACE_COLUMN in result.columns or not hasattr(result, "_jdf"):  # Spark Connect has no plans
        return result
    for rows in inputs:
        carried = _with_column(result, rows)
        if carried is not None:
            return carried
    return result


def _with_column(result: DataFrame, rows: DataFrame) -> DataFrame | None:
    spark: Any = result.sparkSession
    dataset = spark._jvm.org.apache.spark.sql.classic.Dataset
    aliases = spark._jvm.org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases
    try:
        # The analyzer does not look below the names of views.
        unnamed = aliases.apply(result._jdf.queryExecution().analyzed())
        plain = DataFrame(dataset.ofRows(spark._jsparkSession, unnamed), spark)
        filtered = plain.where(rows[TRACE_COLUMN].isNotNull())
        plan = filtered._jdf.queryExecution().analyzed()
    except AnalysisException:
        return None
    if plan.nodeName() != "Project" or plan.child().nodeName() != "Filter":
        return None
    found = DataFrame(dataset.ofRows(spark._jsparkSession, plan.child().child()), spark)
    return found if found.columns == [*result.columns, TRACE_COLUMN] else None

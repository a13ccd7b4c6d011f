"""The columns of rows that sinks write."""

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from barnabas.spark.pipelines.traces.trace_column import is_trace_column

_NOT_OF_THE_ROW = ("record", "change")
"""Structs that sources add: where a row comes from. They can be used, and are not written."""


def written_columns(rows: DataFrame) -> list[StructField]:
    """All columns, except what a source adds about a row."""
    return [
        each
        for each in rows.schema.fields
        if not (each.name in _NOT_OF_THE_ROW and isinstance(each.dataType, StructType))
        and not is_trace_column(each)
    ]

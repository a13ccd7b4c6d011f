"""The trace headers of a record, as a column of its row: sinks write them as headers again."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField

from barnabas.tracing import TRACE_HEADERS

TRACE_COLUMN = "trace_headers"
_TYPE = "array<struct<key:string,value:binary>>"  # that of headers


def trace_column(headers: Column) -> Column:
    """Of all headers, those of the trace."""
    return F.filter(headers, lambda each: each["key"].isin(*TRACE_HEADERS)).alias(TRACE_COLUMN)


def is_trace_column(field: StructField) -> bool:
    """Not one that only has its name."""
    return field.name == TRACE_COLUMN and field.dataType.simpleString() == _TYPE


def traceparent() -> Column:
    """The traceparent of a row, NULL if it has none."""
    found = F.filter(TRACE_COLUMN, lambda each: each["key"] == "traceparent")
    return F.get(found, F.lit(0))["value"].cast("string")

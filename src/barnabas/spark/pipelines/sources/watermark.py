"""Watermarks: a column, and how late its rows may be, such as `"at 10 minutes"`."""

from pyspark.sql import DataFrame

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.errors.source_errors import part_of_source
from barnabas.spark.pipelines.interval import is_interval


def with_watermark(rows: DataFrame, watermark: str | None) -> DataFrame:
    """The rows, with a watermark if there is one."""
    if watermark is None:
        return rows
    column, delay = split_watermark(watermark)
    with part_of_source("watermark"):
        late = rows.withWatermark(column, delay)
        _ = late.schema  # Spark resolves the column only when the schema is needed
        return late


def split_watermark(text: str) -> tuple[str, str]:
    """The column and the delay; raises `InvalidArgument`."""
    column, _, delay = text.strip().partition(" ")
    if not is_interval(delay):
        raise InvalidArgument(
            f'watermark must be a column and a delay such as "at 10 minutes", not {text!r}'
        )
    return column, delay.strip()

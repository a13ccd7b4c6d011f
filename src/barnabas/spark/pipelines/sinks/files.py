"""Rows in a folder of files: JSON lines, CSV or Parquet."""

from collections.abc import Sequence
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.argument_names import file_options
from barnabas.spark.pipelines.parquet.file_kind import FORMATS
from barnabas.spark.pipelines.sinks.parquet import ParquetSink

_DEFAULTS = {"csv": {"header": "true"}, "json": {"ignoreNullFields": "false"}}
"""Without them, readers have to know the columns, or to guess them."""


def to_files(
    path: str,
    *,
    format: str = "json",  # noqa: A002 - Spark's word for it
    partition_by: str | Sequence[str] = (),
    **options: Any,
) -> ParquetSink:
    """Write every row to files in a folder, exactly once for readers of the folder.

    `format` is `json` (an object per line), `csv` or `parquet`. `partition_by` names columns, or
    new ones with an expression, as in `"day=date(at)"`. `options` are Spark's options for the
    format, such as `compression="gzip"`.
    """
    if format not in FORMATS:
        raise InvalidArgument(f"unknown format {format!r}; use {', '.join(FORMATS)}")
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    given = file_options(to_files, options)
    return ParquetSink(path, columns, 0, {**_DEFAULTS.get(format, {}), **given}, format)

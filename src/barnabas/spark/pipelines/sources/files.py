"""Files that are added to a folder, on this machine or in an object store."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.object_store import is_object_url
from barnabas.spark.pipelines.argument_names import file_options
from barnabas.spark.pipelines.expectations.expectation import Expectation, checked_rules
from barnabas.spark.pipelines.sources.folder_files import FilesSource
from barnabas.spark.pipelines.sources.object_files import object_files
from barnabas.spark.pipelines.sources.source import Source

_FORMATS = ("json", "csv", "parquet", "text", "orc", "avro", "xml")
_LIKENESS = 0.6


def from_files(
    path: str,
    schema: str | StructType,
    *,
    format: str = "json",  # noqa: A002 - Spark's word for it
    watermark: str | None = None,
    expect: Sequence[Expectation] = (),
    **options: Any,
) -> Source:
    """The rows of files in a folder, and of files that are added later.

    `path` is a folder, or `s3://bucket/folder`. `expect` are rules for the rows (`expect`).
    """
    _check_format(format)
    given, rules = file_options(from_files, options), checked_rules(expect)
    if is_object_url(path):
        return object_files(path, schema, format, watermark, given, rules)
    return FilesSource(path, schema, format, watermark, given, rules)


def _check_format(name: str) -> None:
    """Refuse a misspelled format; others may be those of a JAR."""
    like = get_close_matches(name.lower(), _FORMATS, 1, _LIKENESS)
    if name not in _FORMATS and like:
        raise InvalidArgument(f"unknown format {name!r}: did you mean {like[0]}?")

"""Rows of a connector: a custom class, or one that comes with Barnabas."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.connector import Connector
from barnabas.spark.connector.data_source import stream_of
from barnabas.spark.pipelines.connector_class import made_connector
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.sources.expected_rows import with_expectations
from barnabas.spark.pipelines.sources.folder_files import FilesSource
from barnabas.spark.pipelines.sources.record_schema import schema_problems
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.watermark import split_watermark, with_watermark


@dataclass(frozen=True)
class ConnectorSource(Source):
    """What a connector reads. See `from_connector`."""

    connector: Connector
    watermark: str | None = None
    expect: tuple[Expectation, ...] = ()

    def __post_init__(self) -> None:
        if self.watermark is not None:
            split_watermark(self.watermark)
        if sends_dead_letters(self.expect):
            raise InvalidArgument(
                'on_failure="dead_letter" is for sources of topics: these rows have no record; '
                "drop them"
            )

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return self.expect

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        return replace(self, expect=checked_rules(rules))

    def describe(self) -> str:
        return self.connector.describe()

    def load(self, environment: Environment) -> DataFrame:
        with part_of_source("schema"):
            fields = self._fields()
        rows = self.shaped(stream_of(environment.spark, self.connector, fields))
        return with_watermark(with_expectations(rows, self, environment), self.watermark)

    def shaped(self, rows: DataFrame) -> DataFrame:
        """The rows of the connector as rows of the source."""
        return rows

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems("json", self.connector.schema())

    def resolved(self, folder: Path) -> Self:
        return replace(self, connector=self.connector.resolved(folder))

    def in_test(self, folder: Path) -> "FilesSource":
        return FilesSource(
            str(folder), self.fed_fields(), "parquet", self.watermark, {}, self.expect
        )

    def fed_fields(self) -> StructType:
        """The columns of rows that a test feeds."""
        return self._fields()

    def _fields(self) -> StructType:
        return JsonValues(self.connector.schema()).fields


def from_connector(
    connector: Connector | str,
    *,
    watermark: str | None = None,
    expect: Sequence[Expectation] = (),
    **arguments: Any,
) -> ConnectorSource:
    """The rows that a connector reads: an object, or the name of a class and its arguments.

    A class is named `module:Class`, such as `lines:Lines`; the module is imported with the folder
    of the definition on Python's path.
    """
    return ConnectorSource(
        made_connector(connector, "read", arguments), watermark, checked_rules(expect)
    )

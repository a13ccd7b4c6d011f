"""Files that are added to a folder that Spark reads, as a stream of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.pipeline_end import resolved_path
from barnabas.spark.pipelines.sources.expected_rows import with_expectations
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.sources.record_schema import schema_problems
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.watermark import split_watermark, with_watermark


@dataclass(frozen=True)
class FilesSource(Source):
    """A folder of files. See `from_files`."""

    path: str
    schema: str | StructType
    format: str = "json"
    watermark: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    expect: tuple[Expectation, ...] = ()

    def __post_init__(self) -> None:
        if self.watermark is not None:
            split_watermark(self.watermark)
        if sends_dead_letters(self.expect):
            raise InvalidArgument(
                'on_failure="dead_letter" is for sources of topics: rows of files have no record; '
                "drop them"
            )

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return self.expect

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        return replace(self, expect=checked_rules(rules))

    def describe(self) -> str:
        return f"{self.format} files in {self.path}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return (("files", self.path),)

    def load(self, environment: Environment) -> DataFrame:
        reader = environment.spark.readStream.format(self.format)
        with part_of_source("schema"):
            reader = reader.schema(self.schema)
        rows = reader.options(**self.options).load(self.path)
        return with_watermark(with_expectations(rows, self, environment), self.watermark)

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems("files", self.schema)

    def resolved(self, folder: Path) -> Self:
        return replace(self, path=resolved_path(self.path, folder))

    def in_test(self, folder: Path) -> "FilesSource":
        return replace(self, path=str(folder), format="parquet", options={})

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        del key
        schema = self.schema
        fields = schema if isinstance(schema, StructType) else JsonValues(schema).fields
        feed.add_rows(Path(self.path), fields, [_mapping(each) for each in rows])


def _mapping(fed: Fed) -> Mapping[str, Any]:
    if not isinstance(fed, Mapping):
        raise InvalidArgument(f"feed mappings to a source of files, not {fed!r}")
    return fed

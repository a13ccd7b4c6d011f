"""Changes of tables as a stream of rows: what the sources for all databases have in common."""

import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, Literal, Self, TypeAlias, get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.changes.change_columns import CHANGE, ENVELOPE
from barnabas.spark.changes.data_source import register_changes
from barnabas.spark.changes.stream_reader import COLUMNS_OPTION, FORMAT_OPTION, LIMIT_OPTION
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded
from barnabas.spark.pipelines.postgres.connection import shown
from barnabas.spark.pipelines.sources.expected_rows import with_expectations
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.sources.folder_files import FilesSource
from barnabas.spark.pipelines.sources.record_schema import schema_problems
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.watermark import split_watermark, with_watermark

MissingColumns: TypeAlias = Literal["fail", "null"]
_ONE_TABLE: Final = re.compile(r"\w+\.\w+")
"""A name, and no pattern for several."""


@dataclass(frozen=True)
class TableChangesSource(Source):
    """Changes of tables, of any database."""

    waits_for_rows: ClassVar[bool] = True
    data_source: ClassVar[str]
    url: str = field(repr=False)
    tables: tuple[str, ...]
    schema: str | StructType | None = None
    watermark: str | None = None
    max_changes_per_batch: int = 100_000
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    expect: tuple[Expectation, ...] = ()
    missing_columns: MissingColumns | None = None

    def __post_init__(self) -> None:
        if self.watermark is not None:
            split_watermark(self.watermark)
        if self.max_changes_per_batch < 1:
            raise InvalidArgument(
                f"max_changes_per_batch is 1 or more, not {self.max_changes_per_batch}"
            )
        if self.missing_columns not in (None, *get_args(MissingColumns)):
            raise InvalidArgument(f"missing_columns is fail or null, not {self.missing_columns!r}")
        if self.missing_columns is not None and self.schema is None:
            raise InvalidArgument(
                "missing_columns is for rows: without a schema, records have the columns that the "
                "table had"
            )
        if sends_dead_letters(self.expect):
            raise InvalidArgument(
                'on_failure="dead_letter" is for sources of topics: changes have no record; drop '
                "them"
            )
        self.check_settings()

    @abstractmethod
    def check_settings(self) -> None:
        """Refuse settings that the database has not."""

    @abstractmethod
    def options(self, environment: Environment) -> dict[str, str]:
        """Options of Spark's data source."""

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return self.expect

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        return replace(self, expect=checked_rules(rules))

    def describe(self) -> str:
        return f"changes of {', '.join(self.tables)} in {shown(self.url)}"

    def load(self, environment: Environment) -> DataFrame:
        register_changes(environment.spark)
        options = self.options(environment)
        options[FORMAT_OPTION] = "debezium" if self.schema is None else "rows"
        options[LIMIT_OPTION] = str(self.max_changes_per_batch)
        values = None if self.schema is None else JsonValues(self.schema)
        if values is not None:
            with part_of_source("schema"):
                names = values.fields.names  # Spark's errors don't say what it parsed
            if self._refuses_missing_columns:
                options[COLUMNS_OPTION] = json.dumps(names)
        rows = environment.spark.readStream.format(self.data_source).options(**options).load()
        if values is not None:
            change = F.struct(*CHANGE.names).alias("change")
            rows = decoded(
                rows.withColumn("value", F.col("value").cast("binary")),
                values,
                [change],
                skip=False,
            )
        return with_watermark(with_expectations(rows, self, environment), self.watermark)

    @property
    def _refuses_missing_columns(self) -> bool:
        """A schema for several tables may have columns that only some of them have."""
        if self.missing_columns is None:
            return len(self.tables) == 1 and _ONE_TABLE.fullmatch(self.tables[0]) is not None
        return self.missing_columns == "fail"

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems("json", self.schema)

    def in_test(self, folder: Path) -> "FedChanges":
        fields = ENVELOPE if self.schema is None else JsonValues(self.schema).fields
        if self.schema is not None:
            fields = StructType([*fields.fields, StructField("change", CHANGE)])
        return FedChanges(str(folder), fields, "parquet", self.watermark, {}, self.expect)


@dataclass(frozen=True)
class FedChanges(FilesSource):
    """What a test feeds instead: rows of the table, with `change` where it is not a create."""

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        created = {"op": "c", "snapshot": False, "unavailable": []}
        super().feed(
            feed,
            [
                {**each, "change": {**created, **each.get("change", {})}}
                if isinstance(each, Mapping)
                else each
                for each in rows
            ],
            key,
        )


def table_names(tables: str | Sequence[str], schema: str, where: str) -> tuple[str, ...]:
    """Names of tables, with commas between them or as a list; those without a schema get one."""
    names = tables.split(",") if isinstance(tables, str) else tables
    whole = tuple(
        each.strip() if "." in each else f"{schema}.{each.strip()}"
        for each in names
        if each.strip()
    )
    if not whole:
        raise InvalidArgument(f"{where}: name a table, such as {schema}.orders")
    return whole

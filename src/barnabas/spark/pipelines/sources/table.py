"""A compacted topic as a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from barnabas.formats.registered.registry import Registry
from barnabas.spark.pipelines.argument_names import table_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError
from barnabas.spark.pipelines.formats.decoded_rows import decoded_rows
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded
from barnabas.spark.pipelines.formats.registered import RegistrySource, registry_source
from barnabas.spark.pipelines.formats.value_format import FormatName, ValueFormat
from barnabas.spark.pipelines.kept_schemas import Evolve, KeptSchemas
from barnabas.spark.pipelines.pipeline_end import names_other_topics
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.sources.record_schema import (
    PLACE,
    columns_of_records,
    fed_record,
    kept_columns,
    record_decoding,
    resolved_schema,
    schema_problems,
    shaped,
    values_of,
)
from barnabas.spark.pipelines.sources.source import Source

_RECORD = ("key", "timestamp")


@dataclass(frozen=True)
class TableSource(Source):
    """The newest record of every key. See `from_table`."""

    topic: str
    schema: str | StructType
    format: FormatName = "json"
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    registry: RegistrySource | None = None
    """Where the schemas of the values are, with `schema="registry"`."""

    is_stream: ClassVar[bool] = False

    @property
    def values(self) -> ValueFormat:
        return self._values(KeptSchemas())

    def _values(self, kept: KeptSchemas, source: str | None = None) -> ValueFormat:
        if self.registry is not None:
            return self.registry.values(kept, source)
        return values_of(self.format, self.schema)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in self.topic.split(","))

    @property
    def required_topics(self) -> tuple[str, ...]:
        return () if names_other_topics(self.options) else self.topics

    def describe(self) -> str:
        return f"table {self.topic}"

    def load(self, environment: Environment) -> DataFrame:
        values = self._values(environment.schemas, environment.source)
        schema = columns_of_records(["key", "value", "timestamp", *PLACE])
        options = dict(self.options)
        if environment.table_folder is not None and not _names_positions(options):
            options.setdefault("tableFolder", environment.table_folder)
        records = environment.records.batch(environment.spark, self.topic, schema, options)
        newest = newest_per_key(records).where("value IS NOT NULL")
        if isinstance(values, JsonValues) and values.needs_spark:
            return decoded(newest, values, kept_columns(self.key, _RECORD), skip=False)
        decoding = record_decoding(values, self.key, _RECORD, "fail", environment.spark)
        return shaped(decoded_rows(newest, decoding), decoding, self.key, _RECORD)

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems(self.format, self.schema)

    def resolved(self, folder: Path) -> Self:
        return replace(self, schema=resolved_schema(self.format, self.schema, folder))

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        del version
        return replace(self, topic=",".join(topics.get(each, each) for each in self.topics))

    def in_test(self, folder: Path) -> "TableSource":
        del folder
        return self

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        values = self.values  # once: a registry is asked for them
        feed.add_records(self.topic, [fed_record(each, values, self.key, key) for each in rows])


def from_table(
    topic: str,
    schema: str | StructType,
    *,
    format: FormatName = "json",  # noqa: A002 - Spark's word for it
    key: str | None = None,
    registry: str | Registry | None = None,
    subject: str | None = None,
    evolve: Evolve | None = None,
    **options: Any,
) -> TableSource:
    """A compacted topic as a table: the latest row of every key, without deleted ones.

    It is not a stream, but a table to join a stream with: every micro-batch sees its current rows.
    A pipeline stores the rows in its folder, and reads only newer records from the topic.
    `registry`, `subject` and `evolve` are for `schema="registry"`, as in `from_topic`.
    """
    of_registry = registry_source(topic, schema, registry, subject, evolve, format=format)
    read = table_options(from_table, topic, options)
    return TableSource(topic, schema, format, key, read, of_registry)


def _names_positions(options: Mapping[str, str]) -> bool:
    """Whether only a part of the topic is read, which can't be stored for the next read."""
    return any(name.lower().startswith(("starting", "ending")) for name in options)


def newest_per_key(records: DataFrame) -> DataFrame:
    """The latest record of every key, including deletes, which have NULL as value.

    Within a partition the offset decides. A key that is in several partitions, as it may be after
    partitions were added, is taken from where its record has the latest timestamp.
    """
    others = [name for name in records.columns if name not in ("key", "partition")]
    whole = F.struct(*others)
    by_key = records.where("key IS NOT NULL").repartition("key")
    in_partitions = by_key.groupBy("key", "partition").agg(
        F.max_by(whole, "offset").alias("record")
    )
    newest = in_partitions.groupBy("key").agg(
        F.max_by(
            F.struct("partition", "record"), F.struct("record.timestamp", "record.offset")
        ).alias("newest")
    )
    columns = ["newest.partition", *(f"newest.record.{name}" for name in others)]
    return newest.select("key", *columns).select(*records.columns)

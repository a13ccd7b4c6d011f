"""What pipelines read: topics, compacted topics as tables, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.argument_names import file_options, read_options, table_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import part_of_source
from barnabas.spark.pipelines.formats.record_decoder import decoded, undecodable
from barnabas.spark.pipelines.formats.value_format import FormatName, ValueFormat
from barnabas.spark.pipelines.formats.values import value_format
from barnabas.spark.pipelines.interval import is_interval
from barnabas.spark.source.schema import schema_of

DEAD_LETTER_HEADER = "dead-letter."
"""What the headers begin with that a dead letter has and the record had not."""

_ALL = schema_of(headers=True)
_PLACE = ("topic", "partition", "offset")


class Source(Protocol):
    """An input of a pipeline."""

    def load(self, environment: Environment) -> DataFrame:
        """Its rows, as a stream or as a table."""

    def describe(self) -> str:
        """What it is, in few words."""


@dataclass(frozen=True)
class TopicSource:
    """The records of topics as a stream of rows. See `from_topic`."""

    topic: str
    schema: str | StructType | None = None
    format: FormatName = "json"
    key: str | None = None
    record: tuple[str, ...] = ("key", "timestamp")
    watermark: str | None = None
    dead_letters: str | None = None
    skip_undecodable: bool = False
    starting_offsets: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_record(self.record)
        if self.schema is None and self._skips:
            raise InvalidArgument("without a schema nothing is decoded, so nothing is undecodable")
        if self.dead_letters in self.topics:
            raise InvalidArgument(
                f"dead_letters: {self.dead_letters} is read too, so what can't be decoded would go "
                "round for ever"
            )
        if self.dead_letters is not None and self.skip_undecodable:
            raise InvalidArgument("dead_letters or skip_undecodable: it is one or the other")
        if self.watermark is not None:
            _split_watermark(self.watermark)

    @property
    def topics(self) -> list[str]:
        return [each.strip() for each in self.topic.split(",")]

    @property
    def values(self) -> ValueFormat | None:
        return None if self.schema is None else _values(self.format, self.schema)

    @property
    def _skips(self) -> bool:
        return self.skip_undecodable or self.dead_letters is not None

    def load(self, environment: Environment) -> DataFrame:
        rows = self._load(environment)
        return _with_watermark(rows, self.watermark)

    def _load(self, environment: Environment) -> DataFrame:
        values = self.values
        if values is None:
            records = self._records(environment, [each.name for each in _ALL.fields])
            return records if self.key is None else records.withColumn(self.key, _key_text())
        place = () if self._skips else _PLACE  # to say where it fails
        key = () if self.key is None else ("key",)
        records = self._records(environment, [*key, *self.record, *place, "value"])
        return decoded(records, values, _kept(self.key, self.record), skip=self._skips)

    def load_undecodable(self, environment: Environment) -> DataFrame:
        """The records that `load` leaves out, as records for a dead-letter topic.

        Key, value and headers are what they were; more headers say where the record was and what
        is wrong with it.
        """
        values = self.values
        assert values is not None
        wanted = ["key", "headers", "timestamp", *_PLACE, "value"]
        found = undecodable(self._records(environment, wanted), values)
        added = [
            F.struct(
                F.lit(f"{DEAD_LETTER_HEADER}{name}").alias("key"),
                F.col(name).cast("string").cast("binary").alias("value"),
            )
            for name in (*_PLACE, "timestamp", "reason")
        ]
        return found.select("key", "value", F.concat("headers", F.array(*added)).alias("headers"))

    def describe(self) -> str:
        return f"topic {self.topic}"

    def _records(self, environment: Environment, columns: Sequence[str]) -> DataFrame:
        wanted = set(columns)
        schema = StructType([each for each in _ALL.fields if each.name in wanted])
        options = {"startingOffsets": self.starting_offsets}
        if "headers" in wanted:
            options["includeHeaders"] = "true"
        if environment.group_id is not None:
            options["groupId"] = environment.group_id
        options |= self.options
        return environment.records.stream(environment.spark, self.topic, schema, options)


@dataclass(frozen=True)
class TableSource:
    """A compacted topic as a table. See `from_table`."""

    topic: str
    schema: str | StructType
    format: FormatName = "json"
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def values(self) -> ValueFormat:
        return _values(self.format, self.schema)

    def load(self, environment: Environment) -> DataFrame:
        values = self.values
        wanted = {"key", "value", "timestamp", *_PLACE}
        schema = StructType([each for each in _ALL.fields if each.name in wanted])
        records = environment.records.batch(environment.spark, self.topic, schema, self.options)
        newest = newest_per_key(records).where("value IS NOT NULL")
        return decoded(newest, values, _kept(self.key, ("key", "timestamp")), skip=False)

    def describe(self) -> str:
        return f"table {self.topic}"


@dataclass(frozen=True)
class FilesSource:
    """Files that come into a folder, as a stream of rows. See `from_files`."""

    path: str
    schema: str | StructType
    format: str = "json"
    watermark: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.watermark is not None:
            _split_watermark(self.watermark)

    def load(self, environment: Environment) -> DataFrame:
        reader = environment.spark.readStream.format(self.format)
        with part_of_source("schema"):
            reader = reader.schema(self.schema)
        rows = reader.options(**self.options).load(self.path)
        return _with_watermark(rows, self.watermark)

    def describe(self) -> str:
        return f"{self.format} files in {self.path}"


def newest_per_key(records: DataFrame) -> DataFrame:
    """The last record of every key; deletes are among them, with NULL for a value.

    Within a partition the offset decides. A key that is in several, as when partitions have been
    added, is taken from where its record has the latest timestamp.
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


def from_topic(
    topic: str,
    schema: str | StructType | None = None,
    *,
    format: FormatName = "json",  # noqa: A002 - Spark's word for it
    key: str | None = None,
    record: str | Sequence[str] = ("key", "timestamp"),
    watermark: str | None = None,
    dead_letters: str | None = None,
    skip_undecodable: bool = False,
    starting_offsets: str = "earliest",
    **options: Any,
) -> TopicSource:
    """The records of a topic (or of several, with commas), each value decoded into columns.

    - `schema`: Spark's DDL for JSON, an Avro schema or the path of one for `format="avro"`.
      Without it, the columns are those of the connector.
    - `key`: a column of this name has the key, as a string.
    - `record`: what else is wanted of a record, in a column `record` with these fields.
    - `watermark`: a column and how late its rows may come, as `"at 10 minutes"`.
    - `dead_letters`: the topic for records that can't be decoded; without it they are an error.
    - `skip_undecodable`: leave them out instead, as when another pipeline on the same topic sends
      them to its dead letters.
    - `options`: further ones of the connector; `__` stands for a dot.
    """
    return TopicSource(
        topic,
        schema,
        format,
        key,
        _names(record),
        watermark,
        dead_letters,
        skip_undecodable,
        starting_offsets,
        read_options(from_topic, topic, starting_offsets, options),
    )


def from_table(
    topic: str,
    schema: str | StructType,
    *,
    format: FormatName = "json",  # noqa: A002 - Spark's word for it
    key: str | None = None,
    **options: Any,
) -> TableSource:
    """A compacted topic as a table: the last row of every key, without those that were deleted.

    It is no stream, but what a stream is joined with: every micro-batch reads it as it is then.
    """
    return TableSource(topic, schema, format, key, table_options(from_table, topic, options))


def from_files(
    path: str,
    schema: str | StructType,
    *,
    format: str = "json",  # noqa: A002 - Spark's word for it
    watermark: str | None = None,
    **options: Any,
) -> FilesSource:
    """The rows of files in a folder, and of those that are put there later."""
    return FilesSource(path, schema, format, watermark, file_options(from_files, options))


def _kept(key: str | None, record: Sequence[str]) -> list[Column]:
    kept = [] if key is None else [_key_text().alias(key)]
    return [*kept, F.struct(*record).alias("record")] if record else kept


def _key_text() -> Column:
    return F.col("key").cast("string")


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(name.strip() for name in parts if name.strip())


def _check_record(names: Sequence[str]) -> None:
    known = [each.name for each in _ALL.fields]
    for name in names:
        if name not in known:
            raise InvalidArgument(f"record: there is no {name!r}, but {', '.join(known)}")


def _values(name: FormatName, schema: str | StructType) -> ValueFormat:
    with part_of_source("schema"):
        values = value_format(name, schema)
        _ = values.fields  # read by Spark, which does not know what it reads
        return values


def _with_watermark(rows: DataFrame, watermark: str | None) -> DataFrame:
    if watermark is None:
        return rows
    column, delay = _split_watermark(watermark)
    with part_of_source("watermark"):
        late = rows.withWatermark(column, delay)
        _ = late.schema  # Spark looks for the column when it is asked for something
        return late


def _split_watermark(text: str) -> tuple[str, str]:
    column, _, delay = text.strip().partition(" ")
    if not is_interval(delay):
        raise InvalidArgument(f'watermark is a column and a delay as "at 10 minutes", not {text!r}')
    return column, delay.strip()

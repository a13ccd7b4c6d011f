"""Where pipelines write to: topics, Parquet tables, functions of one's own, and what only shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import BinaryType, StringType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.argument_names import file_options, only_options, write_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.parquet.batches import ParquetBatches, is_local
from barnabas.spark.pipelines.parquet.table import OF_SPARK, OURS, ParquetTable

OutputMode: TypeAlias = Literal["append", "update", "complete"]
OUTPUT_MODES: tuple[OutputMode, ...] = ("append", "update", "complete")

_BESIDE_VALUE = ("headers", "topic", "partition")
_FEWEST_FILES = 2


class Sink(Protocol):
    """What takes the rows of a pipeline."""

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        """The output modes that it takes."""

    recovers: ClassVar[bool]
    """Whether it goes on where it was; otherwise every run begins anew."""

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        """A writer that lacks a trigger, a name and a checkpoint."""

    def describe(self) -> str:
        """What it is, in few words."""


@dataclass(frozen=True)
class TopicSink:
    """Rows as records of a topic. See `to_topic`."""

    topic: str
    key: tuple[str, ...] = ()
    exactly_once: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    recovers: ClassVar[bool] = True

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",) if self.exactly_once else OUTPUT_MODES

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        options = {
            "kafka.bootstrap.servers": environment.bootstrap_servers,
            "topic": self.topic,
            **self.options,
        }
        records = self.records(rows)
        if output_mode == "append":
            if self.exactly_once:
                options["deliveryGuarantee"] = "exactly-once"
            return records.writeStream.format("barnabas").options(**options)

        # Spark lets sinks in Python only append; what a batch has changed is written as a batch.
        def write(batch: DataFrame, _batch_id: int) -> None:
            batch.write.format("barnabas").options(**options).mode("append").save()

        return records.writeStream.foreachBatch(write)

    def records(self, rows: DataFrame) -> DataFrame:
        """The rows as the connector takes them."""
        beside = [name for name in _BESIDE_VALUE if name in rows.columns and self._is_ready(rows)]
        return rows.select(*self._key(rows), self._value(rows, beside).alias("value"), *beside)

    def describe(self) -> str:
        return f"topic {self.topic}"

    def _is_ready(self, rows: DataFrame) -> bool:
        """Whether the rows are records already."""
        return "value" in rows.columns and set(rows.columns) <= {"key", "value", *_BESIDE_VALUE}

    def _key(self, rows: DataFrame) -> list[Column]:
        if not self.key:
            ready = self._is_ready(rows) and "key" in rows.columns
            return [_as_bytes(rows, "key").alias("key")] if ready else []
        if len(self.key) == 1:
            return [_as_bytes(rows, self.key[0]).alias("key")]
        return [F.to_json(F.struct(*self.key)).cast("binary").alias("key")]

    def _value(self, rows: DataFrame, beside: Sequence[str]) -> Column:
        if self._is_ready(rows):
            return _as_bytes(rows, "value")
        whole = F.struct(*(name for name in rows.columns if name not in beside))
        return F.to_json(whole, {"ignoreNullFields": "false"}).cast("binary")


@dataclass(frozen=True)
class ParquetSink:
    """A table of Parquet files. See `to_parquet`."""

    path: str
    partition_by: tuple[str, ...] = ()
    compact: int = 0
    options: Mapping[str, str] = field(default_factory=dict)

    modes: ClassVar[tuple[OutputMode, ...]] = ("append",)
    recovers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.compact and (self.compact < _FEWEST_FILES or not self.partition_by):
            raise InvalidArgument(
                f"compact={self.compact}: it takes {_FEWEST_FILES} files or more to make one of "
                "them, and partition_by, since it is done partition by partition"
            )

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del output_mode
        columns = [_named(each) for each in self.partition_by]
        for name, expression in columns:
            if expression is not None:
                rows = rows.withColumn(name, F.expr(expression))
        names = [name for name, _ in columns]
        if is_local(environment.spark, self.path):
            return rows.writeStream.foreachBatch(
                ParquetBatches(self._folder, names, self.compact, self.options, environment.writer)
            )
        if self.compact:
            raise InvalidArgument(f"compact: {self.path} is not in a file system of this machine")
        writer = rows.writeStream.format("parquet").option("path", self.path)
        if names:
            writer = writer.partitionBy(*names)
        return writer.options(**self.options)

    @property
    def folder(self) -> Path | None:
        """Where it is on this machine, if a query has written to it here."""
        logs = (self._folder / each for each in (OURS, OF_SPARK))
        return self._folder if any(each.is_dir() for each in logs) else None

    @property
    def table(self) -> ParquetTable:
        """The files, if they are on this machine."""
        return ParquetTable(self._folder)

    @property
    def _folder(self) -> Path:
        return Path(self.path.removeprefix("file://"))

    def describe(self) -> str:
        return f"Parquet in {self.path}"


@dataclass(frozen=True)
class FunctionSink:
    """A function that is given one batch after the other. See `for_each_batch`."""

    function: Callable[[DataFrame, int], None]

    modes: ClassVar[tuple[OutputMode, ...]] = OUTPUT_MODES
    recovers: ClassVar[bool] = True

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.foreachBatch(self.function)

    def describe(self) -> str:
        return f"{getattr(self.function, '__name__', 'function')}()"


@dataclass(frozen=True)
class ConsoleSink:
    """Batches printed as tables."""

    options: Mapping[str, str] = field(default_factory=dict)

    modes: ClassVar[tuple[OutputMode, ...]] = OUTPUT_MODES
    recovers: ClassVar[bool] = False

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.format("console").options(**self.options)

    def describe(self) -> str:
        return "console"


@dataclass(frozen=True)
class MemorySink:
    """A temporary view that has the name of the pipeline."""

    modes: ClassVar[tuple[OutputMode, ...]] = OUTPUT_MODES
    recovers: ClassVar[bool] = False

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.format("memory")

    def describe(self) -> str:
        return "memory"


def to_topic(
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    exactly_once: bool = False,
    **options: Any,
) -> TopicSink:
    """Write every row to a topic; with `exactly_once`, once also when something fails.

    Rows with the connector's columns only (`value`, and perhaps `key`, `headers`, `topic`,
    `partition`) are records as they are. Others become JSON objects. `key` names the column that
    is the key, as text; of several, it is a JSON object of them. `options` are further ones of
    the connector; `__` stands for a dot.
    """
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    return TopicSink(topic, keys, exactly_once, write_options(to_topic, exactly_once, options))


def to_parquet(
    path: str, *, partition_by: str | Sequence[str] = (), compact: int = 0, **options: Any
) -> ParquetSink:
    """Write every row to a table of Parquet files, exactly once for whoever reads the folder.

    `partition_by` are columns, or new ones with what they are made of, as `"day=date(at)"`.
    With `compact=20`, a partition that has got twenty small files gets one of them, while the
    pipeline runs. `options` are those of Spark's for Parquet.
    """
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return ParquetSink(path, columns, compact, file_options(to_parquet, options))


def for_each_batch(function: Callable[[DataFrame, int], None]) -> FunctionSink:
    """Call a function with the rows and the number of each micro-batch.

    After a failure it may be called again with the same number and the same rows.
    """
    return FunctionSink(function)


def to_console(**options: Any) -> ConsoleSink:
    """Print every batch, for a look at a pipeline; every run begins anew."""
    return ConsoleSink(only_options(to_console, ("numRows", "truncate"), options))


def to_memory() -> MemorySink:
    """Keep all rows in a temporary view with the pipeline's name; every run begins anew."""
    return MemorySink()


def _as_bytes(rows: DataFrame, name: str) -> Column:
    if name not in rows.columns:
        raise InvalidArgument(f"there is no column {name!r} to write, but {rows.columns}")
    of_type = rows.schema[name].dataType
    if isinstance(of_type, BinaryType):
        return F.col(name)
    if isinstance(of_type, StringType):
        return F.col(name).cast("binary")
    if of_type.simpleString().startswith(("struct", "array", "map")):
        return F.to_json(name).cast("binary")
    return F.col(name).cast("string").cast("binary")


def _named(column: str) -> tuple[str, str | None]:
    """A column's name, and what it is made of if that is said."""
    name, separator, expression = column.partition("=")
    return name.strip(), expression.strip() if separator else None

"""Rows as records of a topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import BinaryType, StringType

from barnabas.errors import InvalidArgument
from barnabas.formats.registered.registry import Registry
from barnabas.spark.decoding.registered_schemas import registry_address
from barnabas.spark.pipelines.argument_names import write_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.pipeline_end import names_other_topics, resolved_path
from barnabas.spark.pipelines.sinks.registered_rows import RegisteredRows
from barnabas.spark.pipelines.sinks.sink import OUTPUT_MODES, OutputMode, Sink
from barnabas.spark.pipelines.traces.trace_column import TRACE_COLUMN, is_trace_column

_METADATA = ("headers", "topic", "partition")


@dataclass(frozen=True)
class TopicSink(Sink):
    """A topic. See `to_topic`."""

    writes_traces: ClassVar[bool] = True

    topic: str
    key: tuple[str, ...] = ()
    exactly_once: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    topic_per_row: bool = False
    suffix: str = ""
    """Suffix of the topics of rows, in another version of the pipeline."""
    registered: RegisteredRows | None = None
    """How rows become Avro; without it they become JSON."""

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",) if self.exactly_once else OUTPUT_MODES

    def describe(self) -> str:
        return f"topic {self.topic}"

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)

    @property
    def required_topics(self) -> tuple[str, ...]:
        return () if names_other_topics(self.options) else self.topics

    @property
    def producer_options(self) -> Mapping[str, str]:
        return {name: value for name, value in self.options.items() if name.startswith("kafka.")}

    def as_version(self, version: str) -> Self:
        suffix = f"{self.suffix}-{version}" if self.topic_per_row else ""
        return replace(self, topic=f"{self.topic}-{version}", suffix=suffix)

    def resolved(self, folder: Path) -> Self:
        if self.registered is None or self.registered.schema is None:
            return self
        schema = self.registered.schema
        if not schema.lstrip().startswith(("{", '"')):
            schema = resolved_path(schema, folder)
        return replace(self, registered=replace(self.registered, schema=schema))

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        topic = {} if self.topic_per_row else {"topic": self.topic}
        options = environment.cluster.options({**topic, **self.options})
        records = self.records(rows)
        if output_mode == "append":
            if self.exactly_once:
                options["deliveryGuarantee"] = "exactly-once"
            return records.writeStream.format("barnabas").options(**options)

        # Python sinks of Spark can only append, so changed rows are written batch by batch.
        def write(batch: DataFrame, _batch_id: int) -> None:
            batch.write.format("barnabas").options(**options).mode("append").save()

        return records.writeStream.foreachBatch(write)

    def records(self, rows: DataFrame) -> DataFrame:
        """The rows as the connector takes them."""
        own = [each.name for each in rows.schema.fields if not is_trace_column(each)]
        is_encoded = self.registered is None and _are_records(own)
        metadata = [name for name in _METADATA if name in own and is_encoded]
        if self.topic_per_row and "topic" not in metadata:
            raise InvalidArgument(
                "topic_per_row needs the columns topic and value, and may have key, headers and "
                f"partition; the rows have {', '.join(own)}"
            )
        columns = [self._topic() if name == "topic" else F.col(name) for name in metadata]
        if len(own) < len(rows.columns) and "headers" not in metadata:
            columns.append(F.col(TRACE_COLUMN).alias("headers"))
        return rows.select(*self._key(rows, own), self._value(rows, own).alias("value"), *columns)

    def _value(self, rows: DataFrame, own: Sequence[str]) -> Column:
        if self.registered is not None:
            return self.registered.value(rows, own)
        return _value(rows, own)

    def _topic(self) -> Column:
        """The topic column; the connector uses it if the option `topic` is not set."""
        if not self.topic_per_row:
            return F.col("topic")
        own = F.concat(F.col("topic"), F.lit(self.suffix))
        return F.coalesce(own, F.lit(self.topic)).alias("topic")

    def _key(self, rows: DataFrame, own: Sequence[str]) -> list[Column]:
        if not self.key:
            has_key = self.registered is None and _are_records(own) and "key" in own
            return [_as_bytes(rows, "key").alias("key")] if has_key else []
        if len(self.key) == 1:
            return [_as_bytes(rows, self.key[0]).alias("key")]
        return [F.to_json(F.struct(*self.key)).cast("binary").alias("key")]


def to_topic(
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    exactly_once: bool = False,
    topic_per_row: bool = False,
    format: Literal["json", "avro"] = "json",  # noqa: A002 - Spark's word for it
    registry: str | Registry | None = None,
    schema: str | None = None,
    register: bool = False,
    subject: str | None = None,
    **options: Any,
) -> TopicSink:
    """Write every row to a topic; with `exactly_once`, exactly once even after failures.

    Rows that have only the connector's columns (`value`, and optionally `key`, `headers`, `topic`,
    `partition`) are written unchanged. Other rows become JSON objects. `key` names the column
    that is the key, as text; several columns become a JSON object. With `topic_per_row`, the column
    `topic` names the topic of each row; where it is NULL, the argument `topic` is used. `options`
    are options of the connector; `__` stands for a dot.

    With `format="avro"`, rows are Avro with the id of a schema of the registry at the URL
    `registry` (by default that in `BARNABAS_REGISTRY`): the latest version of `subject`, which is
    `TOPIC-value` by default; or `schema`, as JSON or as the path of an .avsc file, which has to be
    registered. `register=True` registers it, or without `schema` that of the rows' columns. A
    schema that is incompatible, or that the rows do not fit, is an error before the query starts.
    """
    of_registry = _registered(topic, format, registry, schema, subject, register=register)
    if of_registry is not None and topic_per_row:
        raise InvalidArgument("topic_per_row takes records, and format='avro' rows")
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    checked = write_options(to_topic, exactly_once, options)
    return TopicSink(topic, keys, exactly_once, checked, topic_per_row, registered=of_registry)


def _registered(
    topic: str,
    format: str,  # noqa: A002 - as in to_topic
    registry: str | Registry | None,
    schema: str | None,
    subject: str | None,
    *,
    register: bool,
) -> RegisteredRows | None:
    if format == "avro":
        address = registry_address(registry, 'format="avro"')
        return RegisteredRows(address, subject or f"{topic}-value", schema, register)
    if format != "json":
        raise InvalidArgument(f"unknown format {format!r}; use json or avro")
    given = {"registry": registry, "schema": schema, "subject": subject, "register": register}
    for name, value in given.items():
        if value:
            raise InvalidArgument(f'{name}= needs format="avro"')
    return None


def _are_records(columns: Sequence[str]) -> bool:
    return "value" in columns and set(columns) <= {"key", "value", *_METADATA}


def _value(rows: DataFrame, own: Sequence[str]) -> Column:
    if _are_records(own):
        return _as_bytes(rows, "value")
    whole = F.struct(*own)
    return F.to_json(whole, {"ignoreNullFields": "false"}).cast("binary")


def _as_bytes(rows: DataFrame, name: str) -> Column:
    if name not in rows.columns:
        raise InvalidArgument(
            f"no column {name!r} to write; the rows have {', '.join(rows.columns)}"
        )
    of_type = rows.schema[name].dataType
    if isinstance(of_type, BinaryType):
        return F.col(name)
    if isinstance(of_type, StringType):
        return F.col(name).cast("binary")
    if of_type.simpleString().startswith(("struct", "array", "map")):
        return F.to_json(name).cast("binary")
    return F.col(name).cast("string").cast("binary")

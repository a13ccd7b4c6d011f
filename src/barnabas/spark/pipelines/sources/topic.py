"""Records of topics as a stream of rows."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.client.producer.dead_letters import HEADER_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.formats.registered.registry import Registry
from barnabas.spark.dead_letters.dead_record import COLUMNS, REASON
from barnabas.spark.dead_letters.letter_target import LetterTarget
from barnabas.spark.dead_letters.letter_udf import without_dead
from barnabas.spark.pipelines.argument_names import read_options
from barnabas.spark.pipelines.environment import DeadLetterTopic, Environment
from barnabas.spark.pipelines.errors.source_errors import SourceError
from barnabas.spark.pipelines.expectations.expectation import (
    Expectation,
    checked_rules,
    sends_dead_letters,
)
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded, decoded_or_dead, undecodable
from barnabas.spark.pipelines.formats.registered import (
    RegisteredValues,
    RegistrySource,
    registry_source,
)
from barnabas.spark.pipelines.formats.value_format import FormatName, ValueFormat
from barnabas.spark.pipelines.kept_schemas import Evolve, KeptSchemas
from barnabas.spark.pipelines.pipeline_end import names_other_topics
from barnabas.spark.pipelines.sources.expected_rows import (
    carried_columns,
    carried_record,
    with_expectations,
)
from barnabas.spark.pipelines.sources.feed import Fed, Feed
from barnabas.spark.pipelines.sources.record_schema import (
    ALL_COLUMNS,
    PLACE,
    columns_of_records,
    fed_record,
    kept_columns,
    key_text,
    record_decoding,
    resolved_schema,
    schema_problems,
    shaped,
    values_of,
)
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.pipelines.sources.watermark import split_watermark, with_watermark
from barnabas.spark.pipelines.traces.sampled_traces import with_sampled_traces
from barnabas.spark.pipelines.traces.trace_column import TRACE_COLUMN, trace_column
from barnabas.spark.source.positions import OTHERS
from barnabas.spark.source.record_decoding import RecordDecoding, Undecodable
from barnabas.tracing import is_tracing


@dataclass(frozen=True)
class TopicSource(Source):
    """The records of topics as a stream of rows. See `from_topic`."""

    waits_for_rows: ClassVar[bool] = True

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
    expect: tuple[Expectation, ...] = ()
    pattern: bool = False
    """Whether `topic` is a regular expression."""
    traces: bool = False
    """Whether rows have the trace headers of their records."""
    registry: RegistrySource | None = None
    """Where the schemas of the values are, with `schema="registry"`."""

    def __post_init__(self) -> None:
        _check_record(self.record)
        if sends_dead_letters(self.expect) and self.dead_letters is None:
            raise InvalidArgument(
                'on_failure="dead_letter" needs a topic: from_topic(..., dead_letters="NAME")'
            )
        if self.schema is None and self._skips and not sends_dead_letters(self.expect):
            raise InvalidArgument(
                "dead_letters and skip_undecodable need a schema: without one nothing is decoded"
            )
        if self.dead_letters is not None and self.reads(self.dead_letters):
            raise InvalidArgument(
                f"dead_letters: the source reads {self.dead_letters} too, so an undecodable record "
                "would be written to it again and again"
            )
        if self.dead_letters is not None and self.skip_undecodable:
            raise InvalidArgument("set dead_letters or skip_undecodable, not both")
        if self.watermark is not None:
            split_watermark(self.watermark)

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that it names: which ones a pattern stands for is not known before it runs."""
        return () if self.pattern else tuple(each.strip() for each in self.topic.split(","))

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return (("topic", self.topic),) if self.pattern else super().places

    def reads(self, topic: str) -> bool:
        if self.pattern:
            return re.fullmatch(self.topic, topic) is not None
        return topic in self.topics

    @property
    def required_topics(self) -> tuple[str, ...]:
        return () if self.is_of_other_cluster else self.topics

    @property
    def is_of_other_cluster(self) -> bool:
        return names_other_topics(self.options)

    @property
    def values(self) -> ValueFormat | None:
        return self._values(KeptSchemas())

    def _values(self, kept: KeptSchemas, source: str | None = None) -> ValueFormat | None:
        if self.registry is not None:
            return self.registry.values(kept, source)
        return None if self.schema is None else values_of(self.format, self.schema)

    @property
    def _skips(self) -> bool:
        return self.skip_undecodable or self.dead_letters is not None

    def describe(self) -> str:
        return f"topics that match {self.topic}" if self.pattern else f"topic {self.topic}"

    def load(self, environment: Environment) -> DataFrame:
        values = self._values(environment.schemas, environment.source)
        letters = self._letters(environment, "expectations", values)
        rows = with_expectations(self._load(environment, values), self, environment, letters)
        if self.traces and is_tracing():
            rows = with_sampled_traces(rows, environment.source)
        return with_watermark(rows, self.watermark)

    def _load(self, environment: Environment, values: ValueFormat | None) -> DataFrame:
        if values is None:
            records = self._records(environment, ALL_COLUMNS.names)
            rows = records if self.key is None else records.withColumn(self.key, key_text())
            traces = [trace_column(F.col("headers"))] if self.traces else []
            return rows.select("*", *carried_columns(self._carried), *traces)
        if self.traces and TRACE_COLUMN in values.fields.names:
            raise InvalidArgument(
                f"traces=True adds a column {TRACE_COLUMN}, and the schema has one of that name"
            )
        if isinstance(values, JsonValues) and values.needs_spark:
            return self._load_by_spark(environment, values)
        decoding = self._decoding(environment, values, "skip" if self._skips else "fail")
        decoding = replace(decoding, letters=self._letters(environment, values=values))
        used = environment.used.get(decoding)
        if used is not None:
            decoding = decoding.using(*used)
        options = self._read_options(environment)
        rows = environment.records.decoded(environment.spark, self.topic, decoding, options)
        return shaped(rows, decoding, self.key, self.record, self._carried, traces=self.traces)

    def _decoding(
        self, environment: Environment, values: ValueFormat, undecodable: Undecodable
    ) -> RecordDecoding:
        wanted = (*self.record, *self._carried, *self._trace_columns)
        return record_decoding(values, self.key, wanted, undecodable, environment.spark)

    def _load_by_spark(self, environment: Environment, values: JsonValues) -> DataFrame:
        target = self._letters(environment, values=values)
        kept = kept_columns(self.key, self.record, traces=self.traces)
        if target is not None:
            records = self._records(environment, [*self.record, *COLUMNS])
            rows = decoded_or_dead(records, values, [*kept, *carried_columns(COLUMNS)])
            return without_dead(rows, F.col(REASON), target, carried_record(rows)).drop(REASON)
        place = () if self._skips else PLACE  # for the error message
        key = () if self.key is None else ("key",)
        wanted = [*key, *self.record, *self._trace_columns, *place, "value"]
        return decoded(self._records(environment, wanted), values, kept, skip=self._skips)

    def load_undecodable(self, environment: Environment) -> DataFrame:
        """The records that `load` leaves out, as records for a dead-letter topic.

        Key, value and its own headers stay as they are; the headers of dead letters say where the
        record was and why it can't be decoded.
        """
        values = self._values(environment.schemas, environment.source)
        assert values is not None
        if isinstance(values, JsonValues) and values.needs_spark:
            wanted = ["key", "headers", "timestamp", *PLACE, "value"]
            found = undecodable(self._records(environment, wanted), values)
        else:
            decoding = self._decoding(environment, values, "only")
            options = self._read_options(environment)
            found = environment.records.decoded(environment.spark, self.topic, decoding, options)
        added = [
            F.struct(
                F.lit(f"{HEADER_PREFIX}{name}").alias("key"),
                (_time_text() if name == "timestamp" else F.col(name).cast("string"))
                .cast("binary")
                .alias("value"),
            )
            for name in (*PLACE, "timestamp", "reason")
        ]
        own = F.filter("headers", lambda header: ~header["key"].startswith(HEADER_PREFIX))
        return found.select("key", "value", F.concat(own, F.array(*added)).alias("headers"))

    def _records(self, environment: Environment, columns: Sequence[str]) -> DataFrame:
        options = self._read_options(environment)
        if "headers" in columns:
            options = {"includeHeaders": "true", **options}
        schema = columns_of_records(columns)
        return environment.records.stream(environment.spark, self.topic, schema, options)

    def _read_options(self, environment: Environment) -> dict[str, str]:
        options = {"startingOffsets": self.starting_offsets}
        if self.pattern:
            options["subscribePattern"] = self.topic
        if environment.group_id is not None:
            options["groupId"] = environment.group_id
        if environment.idle_wait_ms:
            options["idleWait"] = f"{environment.idle_wait_ms}ms"
        return {**options, **self.options}

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return self.expect

    def expecting(self, rules: Sequence[Expectation]) -> Self:
        return replace(self, expect=checked_rules(rules))

    def starting_at(self, offsets: Mapping[str, Mapping[str, int]]) -> Self:
        places = {topic: dict(each) for topic, each in offsets.items() if self.reads(topic)}
        return replace(self, starting_offsets=json.dumps({**places, OTHERS: EARLIEST}))

    @property
    def dead_letter_topic(self) -> str | None:
        return self.dead_letters

    def letter_targets(self, environment: Environment) -> list[LetterTarget]:
        # Letters of a rule count after it has been removed.
        found = [self._target(environment), self._target(environment, "expectations")]
        return [each for each in found if each is not None]

    def _letters(
        self, environment: Environment, kind: str | None = None, values: ValueFormat | None = None
    ) -> LetterTarget | None:
        """Where undecodable records go, or those that fail an expectation."""
        if kind is not None and not sends_dead_letters(self.expect):
            return None
        return self._target(environment, kind, values)

    def _target(
        self, environment: Environment, kind: str | None = None, values: ValueFormat | None = None
    ) -> LetterTarget | None:
        settings = environment.dead_letters
        if self.dead_letters is None:
            return None
        schema = values.definition if isinstance(values, RegisteredValues) else str(self.schema)
        decides = (self.dead_letters, self.format, schema, kind and self.expect)
        definition = sha256(repr(decides).encode()).hexdigest()[:8]
        group = settings.group if kind is None else f"{settings.group}.{kind}"
        target = DeadLetterTopic(self.dead_letters, group, definition, settings.compression)
        return environment.records.letters(target, self.options)

    @property
    def _carried(self) -> tuple[str, ...]:
        """Columns of the record that rows carry until their rules are applied."""
        return COLUMNS if sends_dead_letters(self.expect) else ()

    @property
    def has_traces(self) -> bool:
        return self.traces

    @property
    def _trace_columns(self) -> tuple[str, ...]:
        """What traces are read from."""
        return ("headers",) if self.traces else ()

    def problems(self) -> Iterator[SourceError]:
        yield from schema_problems(self.format, self.schema)

    def resolved(self, folder: Path) -> Self:
        if self.schema is None:
            return self
        return replace(self, schema=resolved_schema(self.format, self.schema, folder))

    def as_version(self, version: str, topics: Mapping[str, str]) -> Self:
        letters = None if self.dead_letters is None else f"{self.dead_letters}-{version}"
        read = ",".join(topics.get(each, each) for each in self.topics)
        return replace(self, topic=read or self.topic, dead_letters=letters)

    def in_test(self, folder: Path) -> "TopicSource":
        del folder
        return self

    def feed(self, feed: Feed, rows: Sequence[Fed], key: str | None) -> None:
        if len(self.topics) > 1:  # a pattern is fed as a topic of that name
            raise InvalidArgument(
                f"{self.describe()} is several topics: feed a source that reads one of them"
            )
        values = self.values  # once: a registry is asked for them
        feed.add_records(self.topic, [fed_record(each, values, self.key, key) for each in rows])


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
    pattern: bool = False,
    traces: bool = False,
    expect: Sequence[Expectation] = (),
    registry: str | Registry | None = None,
    subject: str | None = None,
    evolve: Evolve | None = None,
    **options: Any,
) -> TopicSource:
    """The records of a topic (or several, separated by commas), with values decoded into columns.

    - `pattern`: `topic` is a regular expression for the full names of topics. Topics that are
      created later are included, and read from their beginning.
    - `schema`: Spark's DDL for JSON, an Avro schema or the path of one for `format="avro"`,
      `PATH:MESSAGE` for `format="protobuf"`, with the path of a descriptor file.
      With `"registry"`, the columns are those of the latest version of a registered schema.
      Without it, the columns are those of the connector.
    - `key`: a column of this name has the key, as a string.
    - `record`: fields of the record to add, in a column `record`.
    - `watermark`: a column and how late its rows may be, such as `"at 10 minutes"`.
    - `dead_letters`: the topic for records that can't be decoded; without it they are an error.
    - `skip_undecodable`: skip them instead, for example if another pipeline on the same topic sends
      them to its dead letters.
    - `traces`: pass the trace headers of records on to the records that the pipeline writes.
    - `expect`: rules for the rows (`expect`).
    - `registry`: the URL of the schema registry, by default that in `BARNABAS_REGISTRY`.
    - `subject`: where its schemas are, by default `TOPIC-value`.
    - `evolve`: a pipeline that has run keeps its columns; with `"add"` it also gets those that were
      registered since, when it starts.
    - `options`: other options of the connector; `__` stands for a dot.
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
        read_options(from_topic, topic, starting_offsets, options, pattern=pattern),
        checked_rules(expect),
        pattern,
        traces,
        registry_source(topic, schema, registry, subject, evolve, format=format, pattern=pattern),
    )


def _time_text() -> Column:
    in_utc = F.to_utc_timestamp("timestamp", F.current_timezone())
    return F.date_format(in_utc, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(name.strip() for name in parts if name.strip())


def _check_record(names: Sequence[str]) -> None:
    known = ALL_COLUMNS.names
    for name in names:
        if name not in known:
            raise InvalidArgument(f"record: unknown field {name!r}; use {', '.join(known)}")

"""Where a pipeline runs: its Spark session, and where its records come from.

A pipeline only names topics. The environment decides what reads them, so that the same definition
runs on a cluster of brokers and, in a test, on rows that are fed to it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.records.compression import Compression
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.dead_letters.letter_target import LetterTarget
from barnabas.spark.dead_letters.letter_writer import LetterTopic
from barnabas.spark.pipelines.kept_schemas import KeptSchemas
from barnabas.spark.pipelines.writer import Writer
from barnabas.spark.sessions.combined_conf import is_for_the_jvm
from barnabas.spark.sessions.redaction import REDACTION_CONF
from barnabas.spark.source.consumer_settings import consumer_settings
from barnabas.spark.source.options import DECODING
from barnabas.spark.source.record_decoding import RecordDecoding
from barnabas.spark.source.source_use import SourceUse

WANTED_CONF = {
    **REDACTION_CONF,
    # State that is larger than memory, and checkpoints that hold what has changed.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Spark's default is INT96, and other readers can't tell that it is a time in UTC.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Default Spark settings of pipelines, which the user can override."""

LONG_RUNNING_CONF = {
    **WANTED_CONF,
    # How often Spark polls idle sources. Its default of 10 ms takes a tenth of a core for each idle
    # pipeline.
    "spark.sql.streaming.pollingDelay": "150ms",
}
"""The same for pipelines that run all the time."""

WAITING_CONF = {**LONG_RUNNING_CONF, "spark.sql.streaming.pollingDelay": "10ms"}
"""The same with a source that waits for news itself (`Source.waits_for_rows`)."""


class Records(Protocol):
    """Gives DataFrames of records, with the columns of `schema`."""

    def stream(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame: ...

    def batch(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame: ...

    def letters(self, target: "DeadLetterTopic", options: Mapping[str, str]) -> LetterTarget:
        """Where tasks write the dead letters of records that are read with these options."""

    def decoded(
        self, spark: SparkSession, topic: str, decoding: RecordDecoding, options: Mapping[str, str]
    ) -> DataFrame:
        """A stream of rows whose values are decoded, with the columns of `decoding.schema`."""


@dataclass(frozen=True)
class BrokerRecords:
    """Records of topics, by the connector."""

    cluster: ClusterAddress

    def stream(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame:
        reader = spark.readStream.format("barnabas").options(**self._options(topic, options))
        return reader.schema(schema).load()

    def batch(
        self, spark: SparkSession, topic: str, schema: StructType, options: Mapping[str, str]
    ) -> DataFrame:
        reader = spark.read.format("barnabas").options(**self._options(topic, options))
        return reader.schema(schema).load()

    def letters(self, target: "DeadLetterTopic", options: Mapping[str, str]) -> LetterTopic:
        given = self._options("", options)
        settings = consumer_settings({name.lower(): value for name, value in given.items()})
        return LetterTopic(
            settings.connection,
            target.topic,
            target.group,
            target.definition,
            target.compression,
        )

    def decoded(
        self, spark: SparkSession, topic: str, decoding: RecordDecoding, options: Mapping[str, str]
    ) -> DataFrame:
        return self.stream(spark, topic, decoding.schema, {**options, DECODING: decoding.option()})

    def _options(self, topic: str, options: Mapping[str, str]) -> dict[str, str]:
        named = {} if "subscribePattern" in options else {"subscribe": topic}
        return self.cluster.options({**named, **options})


class DeadLetterTopic(NamedTuple):
    """The dead letters of a source, of one kind."""

    topic: str
    group: str
    """The consumer group that records which of them are written."""
    definition: str
    """Stands for what decides which records are dead, and where they go."""
    compression: Compression = Compression.NONE


class DeadLetterSettings(NamedTuple):
    """Settings of a pipeline for the dead letters of a source."""

    group: str
    compression: Compression = Compression.NONE


@dataclass(frozen=True)
class Environment:
    """What a pipeline is built and run with."""

    spark: SparkSession
    records: Records
    cluster: ClusterAddress
    group_id: str | None = None
    """The consumer group to which sources commit their progress."""
    used: Mapping[RecordDecoding, SourceUse] = field(default_factory=dict)
    """What the query uses of sources that decode values (`used_columns`)."""
    source: str | None = None
    """The name of the source that is loaded."""
    dead_letters: DeadLetterSettings = DeadLetterSettings("dead-letters")  # noqa: RUF009 - a tuple
    table_folder: str | None = None
    """Where tables keep what they have read."""
    idle_wait_ms: int = 0
    """How long a source waits for rows before it answers Spark that there are none."""
    schemas: KeptSchemas = field(default_factory=KeptSchemas)
    """Which versions of registered schemas sources have their columns from."""
    writer: Writer | None = None
    """The identity under which sinks write, for those that record it."""


@contextmanager
def applied(
    spark: SparkSession, conf: Mapping[str, str], defaults: Mapping[str, str] = WANTED_CONF
) -> Iterator[None]:
    """Set Spark settings for a while; a query keeps those that it was started with."""
    before = dict(spark.conf.getAll)
    wanted = {name: value for name, value in defaults.items() if name not in before}
    wanted |= {name: value for name, value in conf.items() if not is_for_the_jvm(name)}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in wanted:
            if name in before:
                spark.conf.set(name, before[name])
            else:
                spark.conf.unset(name)

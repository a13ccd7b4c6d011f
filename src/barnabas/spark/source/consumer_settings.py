"""Settings of reads, by the names of Kafka's consumers."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.range_reader import TUNING
from barnabas.client.offsets.isolation import IsolationLevel, isolation_level
from barnabas.spark.cluster.kafka_settings import ConnectionOptions, GivenSettings, KnownSettings

_NO_GROUP = (
    "a read joins no consumer group, Spark gives partitions to tasks; option groupId commits a "
    "stream's progress to a group"
)
CONSUMER_SETTINGS = KnownSettings(
    "consumers",
    honoured=(
        "client.rack",
        "default.api.timeout.ms",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "isolation.level",
        "max.partition.fetch.bytes",
    ),
    fixed={
        "allow.auto.create.topics": "false",
        "check.crcs": "true",
        "exclude.internal.topics": "true",
    },
    refused={
        "auto.commit.interval.ms": _NO_GROUP,
        "auto.offset.reset": "use startingOffsets and failOnDataLoss",
        "enable.auto.commit": "Spark's checkpoint holds the progress; groupId shows it to others",
        "group.id": _NO_GROUP,
        "group.instance.id": _NO_GROUP,
        "group.protocol": _NO_GROUP,
        "group.remote.assignor": _NO_GROUP,
        "heartbeat.interval.ms": _NO_GROUP,
        "key.deserializer": "keys are bytes: cast or decode the column",
        "max.poll.interval.ms": _NO_GROUP,
        "max.poll.records": "use maxOffsetsPerTrigger, or maxRecordsPerPartition for each task",
        "partition.assignment.strategy": _NO_GROUP,
        "session.timeout.ms": _NO_GROUP,
        "value.deserializer": "values are bytes: cast or decode the column",
    },
)
"""How each setting of Kafka consumers is handled."""


@dataclass(frozen=True)
class ConsumerSettings:
    """The `kafka.` options of a reader, parsed."""

    connection: ConnectionOptions
    isolation: IsolationLevel
    tuning: FetchTuning
    rack: str = ""
    """Where the reader is: followers on the same rack are read from, if the brokers say so."""
    metadata_max_age_ms: int = 1_000
    """How often a stream looks for new topics and partitions."""


def consumer_settings(options: Mapping[str, str]) -> ConsumerSettings:
    given = GivenSettings(options, CONSUMER_SETTINGS)
    isolation = given.text("isolation.level", "read_committed").lower()
    return ConsumerSettings(
        given.connection(retry_timeout="default.api.timeout.ms"),
        isolation_level(isolation),  # type: ignore[arg-type]  # it says what is wrong itself
        FetchTuning(
            max_wait_ms=given.number("fetch.max.wait.ms", TUNING.max_wait_ms, least=0),
            min_bytes=given.number("fetch.min.bytes", TUNING.min_bytes),
            max_bytes=given.number("fetch.max.bytes", TUNING.max_bytes),
            partition_max_bytes=given.number(
                "max.partition.fetch.bytes", TUNING.partition_max_bytes
            ),
        ),
        given.text("client.rack", ""),
        given.number("metadata.max.age.ms", 1_000, least=0),
    )

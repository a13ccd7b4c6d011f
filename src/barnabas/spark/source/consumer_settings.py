"""Settings of reads, by the names of Kafka's consumers."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.range_reader import TUNING
from barnabas.client.offsets.isolation import IsolationLevel, isolation_level
from barnabas.spark.cluster.kafka_settings import ConnectionOptions, GivenSettings, KnownSettings

_KNOWN = KnownSettings(
    "consumers",
    honoured=(
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "isolation.level",
        "max.partition.fetch.bytes",
    ),
    passed_over=(
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "check.crcs",
        "client.rack",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "partition.assignment.strategy",
        "session.timeout.ms",
    ),
    refused={
        "auto.offset.reset": "use startingOffsets and failOnDataLoss",
        "key.deserializer": "keys are bytes: cast or decode the column",
        "value.deserializer": "values are bytes: cast or decode the column",
        "enable.auto.commit": "Spark's checkpoint holds the progress; groupId shows it to others",
        "interceptor.classes": "interceptors are Java classes, and this is not a Java client",
    },
)


@dataclass(frozen=True)
class ConsumerSettings:
    """The `kafka.` options of a reader, parsed."""

    connection: ConnectionOptions
    isolation: IsolationLevel
    tuning: FetchTuning


def consumer_settings(options: Mapping[str, str]) -> ConsumerSettings:
    given = GivenSettings(options, _KNOWN)
    isolation = given.text("isolation.level", "read_committed").lower()
    return ConsumerSettings(
        given.connection(),
        isolation_level(isolation),  # type: ignore[arg-type]  # it says what is wrong itself
        FetchTuning(
            max_wait_ms=given.number("fetch.max.wait.ms", TUNING.max_wait_ms, least=0),
            max_bytes=given.number("fetch.max.bytes", TUNING.max_bytes),
            partition_max_bytes=given.number(
                "max.partition.fetch.bytes", TUNING.partition_max_bytes
            ),
        ),
    )

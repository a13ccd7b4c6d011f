"""Settings of writes, by the names of Kafka's producers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.client.producer.producer_options import compression_of
from barnabas.client.producer.record_producer import (
    ACKS_ALL,
    MAX_REQUEST_BYTES,
    REQUEST_BYTES,
)
from barnabas.client.producer.sender import METADATA_MAX_AGE_MS
from barnabas.records.compression import Compression
from barnabas.spark.cluster.kafka_settings import ConnectionOptions, GivenSettings, KnownSettings

PRODUCER_SETTINGS = KnownSettings(
    "producers",
    honoured=(
        "acks",
        "batch.size",
        "buffer.memory",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "linger.ms",
        "max.request.size",
        "transaction.timeout.ms",
    ),
    fixed={
        "compression.gzip.level": "6",
        "compression.zstd.level": "3",
        "partitioner.adaptive.partitioning.enable": "false",
        "partitioner.availability.timeout.ms": "0",
        "partitioner.ignore.keys": "false",
        "retries": "2147483647",
    },
    refused={
        "compression.lz4.level": "lz4 has one level here; use kafka.compression.type=zstd",
        "key.serializer": "keys are strings or bytes: cast or encode the column",
        "max.block.ms": "a task waits as long as it must; use kafka.delivery.timeout.ms",
        "max.in.flight.requests.per.connection": (
            "one batch of each partition is in flight, which keeps the order: leave it out"
        ),
        "metadata.max.idle.ms": "use kafka.metadata.max.age.ms",
        "partitioner.class": "give the rows a column partition",
        "transaction.two.phase.commit.enable": "use deliveryGuarantee=exactly-once",
        "transactional.id": "with deliveryGuarantee=exactly-once, every task gets one",
        "value.serializer": "values are strings or bytes: cast or encode the column",
    },
)
"""How each setting of Kafka producers is handled."""

_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": 1, "0": 0}
_FLAGS: dict[str, bool | None] = {"true": True, "false": False}


@dataclass(frozen=True)
class ProducerSettings:
    """The `kafka.` options of a writer, parsed."""

    connection: ConnectionOptions
    acks: int
    compression: Compression
    idempotent: bool | None
    linger_ms: int
    batch_bytes: int
    max_request_bytes: int
    buffer_bytes: int
    delivery_timeout_ms: int
    transaction_timeout_ms: int | None
    """None: transactions have no timeout."""
    metadata_max_age_ms: int
    """How often the client looks for new partitions of topics."""

    @property
    def producer(self) -> dict[str, Any]:
        """Arguments of `client.producer.Producer` that have nothing to do with transactions."""
        return {
            "acks": self.acks,
            "compression": self.compression,
            "idempotent": self.idempotent,
            "linger_ms": self.linger_ms,
            "batch_bytes": min(self.batch_bytes, self.max_request_bytes),
            "request_bytes": min(REQUEST_BYTES, self.max_request_bytes),
            "max_request_bytes": self.max_request_bytes,
            "buffer_bytes": self.buffer_bytes,
            "delivery_timeout_ms": self.delivery_timeout_ms,
            "metadata_max_age_ms": self.metadata_max_age_ms,
        }


def producer_settings(options: Mapping[str, str]) -> ProducerSettings:
    given = GivenSettings(options, PRODUCER_SETTINGS)
    return ProducerSettings(
        given.connection(),
        given.choice("acks", _ACKS, ACKS_ALL),
        compression_of(given.text("compression.type", "none")),  # type: ignore[arg-type]
        given.choice("enable.idempotence", _FLAGS, None),
        given.number("linger.ms", 5, least=0),
        given.number("batch.size", 1_000_000),
        given.number("max.request.size", MAX_REQUEST_BYTES),
        given.number("buffer.memory", 32 * 1024 * 1024),
        given.number("delivery.timeout.ms", 120_000),
        given.number("transaction.timeout.ms", None),
        given.number("metadata.max.age.ms", METADATA_MAX_AGE_MS),
    )

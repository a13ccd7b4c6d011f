"""Settings of writes, by the names of Kafka's producers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.client.producer.producer_options import compression_of
from barnabas.client.producer.record_producer import ACKS_ALL
from barnabas.records.compression import Compression
from barnabas.spark.cluster.kafka_settings import ConnectionOptions, GivenSettings, KnownSettings

_KNOWN = KnownSettings(
    "producers",
    honoured=(
        "acks",
        "batch.size",
        "buffer.memory",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "transaction.timeout.ms",
    ),
    passed_over=(
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.request.size",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "retries",
    ),
    refused={
        "key.serializer": "keys are strings or bytes: cast or encode the column",
        "value.serializer": "values are strings or bytes: cast or encode the column",
        "transactional.id": "with deliveryGuarantee=exactly-once, every task gets one",
        "interceptor.classes": "interceptors are Java classes, and this is not a Java client",
        "partitioner.class": "give the rows a column partition",
    },
)
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": 1, "0": 0}
_FLAGS: dict[str, bool | None] = {"true": True, "false": False}


@dataclass(frozen=True)
class ProducerSettings:
    """The `kafka.` options of a writer, parsed."""

    connection: ConnectionOptions
    acks: int
    compression: Compression
    idempotent: bool | None
    batch_bytes: int
    buffer_bytes: int
    delivery_timeout_ms: int
    transaction_timeout_ms: int | None
    """None: transactions wait for as long as it takes."""

    @property
    def producer(self) -> dict[str, Any]:
        """Arguments of `client.producer.Producer` that have nothing to do with transactions."""
        return {
            "acks": self.acks,
            "compression": self.compression,
            "idempotent": self.idempotent,
            "batch_bytes": self.batch_bytes,
            "buffer_bytes": self.buffer_bytes,
            "delivery_timeout_ms": self.delivery_timeout_ms,
        }


def producer_settings(options: Mapping[str, str]) -> ProducerSettings:
    given = GivenSettings(options, _KNOWN)
    return ProducerSettings(
        given.connection(),
        given.choice("acks", _ACKS, ACKS_ALL),
        compression_of(given.text("compression.type", "none")),  # type: ignore[arg-type]
        given.choice("enable.idempotence", _FLAGS, None),
        given.number("batch.size", 1_000_000),
        given.number("buffer.memory", 32 * 1024 * 1024),
        given.number("delivery.timeout.ms", 120_000),
        given.number("transaction.timeout.ms", None),
    )

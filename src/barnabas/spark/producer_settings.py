"""Options of writes whose name begins with `kafka.`: settings of the producer, by Kafka's names.

As with those of reads, some are honoured, some tune what this client does not have and are passed
over, and the rest is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from barnabas.client.connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.producer import ACKS_ALL
from barnabas.client.producer_options import compression_of
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression
from barnabas.spark.kafka_options import PREFIX, ConnectionOptions

_REFUSED = {
    "key.serializer": "keys are strings or bytes: cast or encode the column",
    "value.serializer": "values are strings or bytes: cast or encode the column",
    "transactional.id": "every task has one of its own, with deliveryGuarantee exactly-once",
    "interceptor.classes": "there is no Java client here that could have them",
    "partitioner.class": "give the rows a column partition",
}
_NOT_THERE = ("sasl.", "ssl.")
_HONOURED = (
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "security.protocol",
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.type",
    "delivery.timeout.ms",
    "enable.idempotence",
    "transaction.timeout.ms",
)
_PASSED_OVER = frozenset(
    {
        "client.dns.lookup",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.request.size",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    }
)
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": 1, "0": 0}
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class ProducerSettings:
    """What the `kafka.` options of a writer amount to."""

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
    """Read all options whose name begins with `kafka.`; their names are in lower case."""
    given = _Given(
        {
            name.removeprefix(PREFIX): value
            for name, value in options.items()
            if name.startswith(PREFIX)
        }
    )
    protocol = given.text("security.protocol") or "PLAINTEXT"
    if protocol.upper() != "PLAINTEXT":
        raise InvalidArgument(
            f"kafka.security.protocol={protocol}: only PLAINTEXT connections can be made"
        )
    bootstrap_servers = given.text("bootstrap.servers")
    if not bootstrap_servers:
        raise InvalidArgument(
            'say where the brokers are: .option("kafka.bootstrap.servers", "HOST:PORT")'
        )
    return ProducerSettings(
        ConnectionOptions(
            bootstrap_servers,
            given.text("client.id") or "barnabas-spark",
            given.number("request.timeout.ms") or DEFAULT_REQUEST_TIMEOUT_MS,
        ),
        given.choice("acks", _ACKS, ACKS_ALL),
        compression_of(given.text("compression.type") or "none"),  # type: ignore[arg-type]
        given.choice("enable.idempotence", _FLAGS, None),
        given.number("batch.size") or 1_000_000,
        given.number("buffer.memory") or 32 * 1024 * 1024,
        given.number("delivery.timeout.ms") or 120_000,
        given.number("transaction.timeout.ms"),
    )


class _Given:
    """Settings by their names, which Kafka's producers must know."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        for name in settings:
            if name in _REFUSED:
                raise InvalidArgument(f"{PREFIX}{name} cannot be set: {_REFUSED[name]}")
            if name.startswith(_NOT_THERE):
                raise InvalidArgument(f"{PREFIX}{name}: only plain connections can be made")
            if name not in _HONOURED and name not in _PASSED_OVER:
                like = get_close_matches(name, (*_HONOURED, *_PASSED_OVER), 1)
                hint = f": did you mean {PREFIX}{like[0]}?" if like else ""
                raise InvalidArgument(
                    f"Kafka's producers have no setting {name!r} ({PREFIX}{name}){hint}"
                )
        self._settings = settings

    def text(self, name: str) -> str | None:
        return self._settings.get(name)

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not text.strip().isdigit() or int(text) == 0:
            raise InvalidArgument(f"{PREFIX}{name} is a number above 0, not {text!r}")
        return int(text)

    def choice(self, name: str, choices: Mapping[str, Any], default: Any) -> Any:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in choices:
            raise InvalidArgument(f"{PREFIX}{name} is {', '.join(choices)}, not {text!r}")
        return choices[text.lower()]

"""Options whose name begins with `kafka.`: settings of the client, by Kafka's names.

Some are honoured; others tune what this client does not have, and are passed over so that jobs run
as they are. Refused are those that contradict how Spark reads, those of encrypted or authenticated
connections, which cannot be made, and names that Kafka's consumers do not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from barnabas.client.connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.fetch_request import FetchTuning
from barnabas.client.isolation import IsolationLevel, isolation_level
from barnabas.client.range_reading import TUNING
from barnabas.errors import InvalidArgument

PREFIX = "kafka."

_REFUSED = {
    "auto.offset.reset": "use startingOffsets and failOnDataLoss",
    "key.deserializer": "keys are bytes: cast or decode the column",
    "value.deserializer": "values are bytes: cast or decode the column",
    "enable.auto.commit": "Spark's checkpoint holds the progress; groupId shows it to others",
    "interceptor.classes": "there is no Java client here that could have them",
}
_NOT_THERE = ("sasl.", "ssl.")
_PASSED_OVER = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "check.crcs",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    }
)
_HONOURED = (
    "bootstrap.servers",
    "client.id",
    "isolation.level",
    "request.timeout.ms",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "max.partition.fetch.bytes",
    "security.protocol",
)


@dataclass(frozen=True)
class ConnectionOptions:
    """How to reach the cluster: who has the same may share connections."""

    bootstrap_servers: str
    client_id: str
    request_timeout_ms: int


@dataclass(frozen=True)
class ConsumerOptions:
    """What the `kafka.` options of a reader amount to."""

    connection: ConnectionOptions
    isolation: IsolationLevel
    tuning: FetchTuning


def consumer_options(options: Mapping[str, str]) -> ConsumerOptions:
    """Read all options whose name begins with `kafka.`; their names are in lower case."""
    given = {
        name.removeprefix(PREFIX): value
        for name, value in options.items()
        if name.startswith(PREFIX)
    }
    for name in given:
        _check_name(name)
    protocol = given.get("security.protocol", "PLAINTEXT")
    if protocol.upper() != "PLAINTEXT":
        raise InvalidArgument(
            f"kafka.security.protocol={protocol}: only PLAINTEXT connections can be made"
        )
    if not given.get("bootstrap.servers"):
        raise InvalidArgument(
            'say where the brokers are: .option("kafka.bootstrap.servers", "HOST:PORT")'
        )
    isolation = given.get("isolation.level", "read_committed").lower()
    return ConsumerOptions(
        ConnectionOptions(
            given["bootstrap.servers"],
            given.get("client.id", "barnabas-spark"),
            _number(given, "request.timeout.ms", DEFAULT_REQUEST_TIMEOUT_MS),
        ),
        isolation_level(isolation),  # type: ignore[arg-type]  # it says what is wrong itself
        FetchTuning(
            max_wait_ms=_number(given, "fetch.max.wait.ms", TUNING.max_wait_ms),
            max_bytes=_number(given, "fetch.max.bytes", TUNING.max_bytes),
            partition_max_bytes=_number(
                given, "max.partition.fetch.bytes", TUNING.partition_max_bytes
            ),
        ),
    )


def _check_name(name: str) -> None:
    if name in _REFUSED:
        raise InvalidArgument(f"{PREFIX}{name} cannot be set: {_REFUSED[name]}")
    if name.startswith(_NOT_THERE):
        raise InvalidArgument(f"{PREFIX}{name}: only plain connections can be made")
    if name not in _HONOURED and name not in _PASSED_OVER:
        like = get_close_matches(name, (*_HONOURED, *_PASSED_OVER), 1)
        hint = f": did you mean {PREFIX}{like[0]}?" if like else ""
        raise InvalidArgument(f"Kafka's consumers have no setting {name!r} ({PREFIX}{name}){hint}")


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not text.strip().isdigit():
        raise InvalidArgument(f"{PREFIX}{name} is a number, not {text!r}")
    return int(text)

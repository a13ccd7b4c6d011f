"""Options whose name begins with `kafka.`: settings of the client, by Kafka's names.

Some are honoured; others tune what this client does not have, and are ignored so that jobs run
as they are. Refused are those that contradict how Spark works, those of encrypted or authenticated
connections, which cannot be made, and names that Kafka's clients do not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.errors import InvalidArgument

PREFIX = "kafka."

_NOT_THERE = ("sasl.", "ssl.")
_HONOURED_BY_ALL = ("bootstrap.servers", "client.id", "request.timeout.ms", "security.protocol")
_PASSED_OVER_BY_ALL = (
    "client.dns.lookup",
    "connections.max.idle.ms",
    "enable.metrics.push",
    "metadata.max.age.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)

_Choice = TypeVar("_Choice")


@dataclass(frozen=True)
class ConnectionOptions:
    """How to reach the cluster; equal options share a connection."""

    bootstrap_servers: str
    client_id: str
    request_timeout_ms: int


@dataclass(frozen=True)
class KnownSettings:
    """Settings of one kind of Kafka client, in addition to the common ones."""

    clients: str
    honoured: tuple[str, ...]
    passed_over: tuple[str, ...]
    refused: Mapping[str, str]
    """With what to do instead."""

    def check(self, name: str) -> None:
        if name in self.refused:
            raise InvalidArgument(f"{PREFIX}{name} cannot be set: {self.refused[name]}")
        if name.startswith(_NOT_THERE):
            raise InvalidArgument(f"{PREFIX}{name}: only plain connections can be made")
        names = (*_HONOURED_BY_ALL, *self.honoured, *_PASSED_OVER_BY_ALL, *self.passed_over)
        if name not in names:
            like = get_close_matches(name, names, 1)
            hint = f": did you mean {PREFIX}{like[0]}?" if like else ""
            raise InvalidArgument(
                f"Kafka's {self.clients} have no setting {name!r} ({PREFIX}{name}){hint}"
            )


class GivenSettings:
    """The settings among a job's options, whose names are in lower case."""

    def __init__(self, options: Mapping[str, str], known: KnownSettings) -> None:
        self._settings = {
            name.removeprefix(PREFIX): value
            for name, value in options.items()
            if name.startswith(PREFIX)
        }
        for name in self._settings:
            known.check(name)

    def connection(self) -> ConnectionOptions:
        protocol = self.text("security.protocol", "PLAINTEXT")
        if protocol.upper() != "PLAINTEXT":
            raise InvalidArgument(
                f"kafka.security.protocol={protocol}: only PLAINTEXT connections can be made"
            )
        bootstrap_servers = self.text("bootstrap.servers", "")
        if not bootstrap_servers:
            raise InvalidArgument(
                'say where the brokers are: .option("kafka.bootstrap.servers", "HOST:PORT")'
            )
        return ConnectionOptions(
            bootstrap_servers,
            self.text("client.id", "barnabas-spark"),
            self.number("request.timeout.ms", DEFAULT_REQUEST_TIMEOUT_MS),
        )

    def text(self, name: str, default: str) -> str:
        return self._settings.get(name, default)

    def number(self, name: str, default: _Choice, *, least: int = 1) -> int | _Choice:
        text = self._settings.get(name)
        if text is None:
            return default
        if not text.strip().isdigit() or int(text) < least:
            raise InvalidArgument(f"{PREFIX}{name} is a number of at least {least}, not {text!r}")
        return int(text)

    def choice(self, name: str, choices: Mapping[str, _Choice], default: _Choice) -> _Choice:
        text = self._settings.get(name)
        if text is None:
            return default
        if text.lower() not in choices:
            raise InvalidArgument(f"{PREFIX}{name} is {', '.join(choices)}, not {text!r}")
        return choices[text.lower()]

"""Options whose name begins with `kafka.`: settings of the client, by Kafka's names.

No setting is ignored. A setting is applied; or it is accepted only with the value that describes
what this client does anyway; or it is refused with an error that names the alternative. Unknown
names are refused, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.connect.security_settings import (
    NO_SECURITY,
    SECURITY_SETTINGS,
    SecuritySettings,
    security_settings,
)
from barnabas.errors import InvalidArgument

PREFIX = "kafka."

_SECURED = ("sasl.", "ssl.", "security.providers")
_HONOURED_BY_ALL = (
    "bootstrap.servers",
    "client.id",
    "metadata.max.age.ms",
    "request.timeout.ms",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
)
_FIXED_BY_ALL = {
    "client.dns.lookup": "use_all_dns_ips",
    "connections.max.idle.ms": "-1",
    "enable.metrics.push": "false",
    "metadata.recovery.strategy": "rebootstrap",
    "receive.buffer.bytes": "-1",
    "reconnect.backoff.max.ms": "1000",
    "reconnect.backoff.ms": "50",
    "retry.backoff.max.ms": "1000",
    "retry.backoff.ms": "50",
    "send.buffer.bytes": "-1",
}
_NO_METRICS = (
    "the client has no metrics; the query's progress has the rates, and option groupId "
    "shows the lag"
)
_REFUSED_BY_ALL = {
    "auto.include.jmx.reporter": _NO_METRICS,
    "bootstrap.controllers": "use kafka.bootstrap.servers",
    "bootstrap.resolve.timeout.ms": "use kafka.socket.connection.setup.timeout.ms",
    "config.providers": "give the values themselves",
    "interceptor.classes": "interceptors are Java classes, and this is not a Java client",
    "metadata.recovery.rebootstrap.trigger.ms": (
        "the bootstrap servers are asked as soon as no other broker answers"
    ),
    "metric.reporters": _NO_METRICS,
    "metrics.num.samples": _NO_METRICS,
    "metrics.recording.level": _NO_METRICS,
    "metrics.sample.window.ms": _NO_METRICS,
    "socket.connection.setup.timeout.max.ms": (
        "use kafka.socket.connection.setup.timeout.ms, which does not grow"
    ),
}

_Choice = TypeVar("_Choice")


@dataclass(frozen=True)
class ConnectionOptions:
    """How to reach the cluster; equal options share a connection."""

    bootstrap_servers: str
    client_id: str
    request_timeout_ms: int
    connect_timeout_ms: int = 5_000
    retry_timeout_ms: int = 30_000
    """How long an operation is retried while brokers are unavailable."""
    security: SecuritySettings = NO_SECURITY


@dataclass(frozen=True)
class KnownSettings:
    """Settings of one kind of Kafka client, in addition to the common ones."""

    clients: str
    honoured: tuple[str, ...]
    fixed: Mapping[str, str]
    """Settings that have one allowed value."""
    refused: Mapping[str, str]
    """Refused settings, each with the alternative."""

    @property
    def names(self) -> list[str]:
        """All known settings, except those of secured connections."""
        of_all = (*_HONOURED_BY_ALL, *_FIXED_BY_ALL, *_REFUSED_BY_ALL)
        return sorted({*of_all, *self.honoured, *self.fixed, *self.refused})

    def check(self, name: str, value: str) -> None:
        refused = {**_REFUSED_BY_ALL, **self.refused}
        fixed = {**_FIXED_BY_ALL, **self.fixed}
        if name in refused:
            raise InvalidArgument(f"{PREFIX}{name} cannot be set: {refused[name]}")
        if name in fixed:
            if value.strip().lower() != fixed[name]:
                raise InvalidArgument(
                    f"{PREFIX}{name}={value} cannot be set: this client always behaves as with "
                    f"{fixed[name]}; leave it out"
                )
            return
        if name in SECURITY_SETTINGS:
            return
        if name.startswith(_SECURED):
            raise InvalidArgument(
                f"{PREFIX}{name} is not supported; security settings are "
                f"{', '.join(sorted(SECURITY_SETTINGS))}"
            )
        names = (*_HONOURED_BY_ALL, *self.honoured)
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
        for name, value in self._settings.items():
            known.check(name, value)

    def connection(self, *, retry_timeout: str | None = None) -> ConnectionOptions:
        """How to reach the cluster; `retry_timeout` is the setting that bounds retries."""
        bootstrap_servers = self.text("bootstrap.servers", "")
        if not bootstrap_servers:
            raise InvalidArgument(
                'no bootstrap servers: set .option("kafka.bootstrap.servers", "HOST:PORT")'
            )
        usual = ConnectionOptions(
            bootstrap_servers,
            self.text("client.id", "barnabas-spark"),
            self.number("request.timeout.ms", DEFAULT_REQUEST_TIMEOUT_MS),
        )
        return replace(
            usual,
            connect_timeout_ms=self.number(
                "socket.connection.setup.timeout.ms", usual.connect_timeout_ms
            ),
            retry_timeout_ms=usual.retry_timeout_ms
            if retry_timeout is None
            else self.number(retry_timeout, usual.retry_timeout_ms),
            security=security_settings(
                {name: text for name, text in self._settings.items() if name in SECURITY_SETTINGS}
            ),
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

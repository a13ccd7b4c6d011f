"""Which metrics a client pushes, and how often: all subscriptions whose patterns match it."""

from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from barnabas.metadata.client_metrics_configs import (
    ALL_METRICS,
    DEFAULT_INTERVAL_MS,
    INTERVAL,
    MATCH,
    METRICS,
)
from barnabas.regex import LinearPattern


class ClientTraits(NamedTuple):
    """What a subscription may match; the names are those of its patterns."""

    client_instance_id: str
    client_id: str
    client_software_name: str
    client_software_version: str
    client_source_address: str
    client_source_port: str


class Wanted(NamedTuple):
    """What a client has to push."""

    subscription_id: int
    metrics: tuple[str, ...]
    interval_ms: int


class Subscription(NamedTuple):
    metrics: frozenset[str]
    interval_ms: int
    patterns: tuple[tuple[str, LinearPattern], ...]

    def matches(self, client: ClientTraits) -> bool:
        return all(pattern.matches(getattr(client, name)) for name, pattern in self.patterns)


def parse_subscription(configs: Mapping[str, str]) -> Subscription:
    """The settings have been checked when they were set."""
    return Subscription(
        frozenset(_items(configs.get(METRICS))),
        int(configs.get(INTERVAL, DEFAULT_INTERVAL_MS)),
        tuple(
            (name, LinearPattern(pattern))
            for name, _, pattern in (item.partition("=") for item in _items(configs.get(MATCH)))
        ),
    )


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]


def wanted_of(subscriptions: Mapping[str, Subscription], client: ClientTraits) -> Wanted:
    """All metrics of all subscriptions that match, as often as the most frequent one."""
    matching = [each for each in subscriptions.values() if each.metrics and each.matches(client)]
    metrics = frozenset().union(*(each.metrics for each in matching))
    if ALL_METRICS in metrics:
        metrics = frozenset((ALL_METRICS,))
    interval_ms = min((each.interval_ms for each in matching), default=DEFAULT_INTERVAL_MS)
    names = tuple(sorted(metrics))
    # A client that asks again after a change gets another id, and one that has not learns of it.
    text = ",".join((client.client_instance_id, str(interval_ms), *names))
    return Wanted(crc32(text.encode()) >> 1, names, interval_ms)

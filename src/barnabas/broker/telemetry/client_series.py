"""The metrics that clients have pushed, by metric, client id and attributes.

Instances with the same client id share their series, so that restarts of clients make no new ones:
counters are added up, and of gauges the largest counts. The number of series is bounded, as names,
client ids and attributes are the clients' choice.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.metrics.otlp import Point, PointKind

MAX_SERIES = 10_000
MAX_VALUES = 50_000
"""Of all instances in all series."""
OF_CLIENTS = "org_apache_kafka_"
"""How the names of Kafka's own client metrics begin."""
_MAX_TEXT = 200
_MAX_ATTRIBUTES = 8
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
_LEFT_OUT = frozenset(("client_id", "client_instance_id"))
"""Attributes that would name the client a second time."""

Labels = tuple[tuple[str, str], ...]


class SeriesKey(NamedTuple):
    name: str
    labels: Labels
    """With the client id."""


class _Series:
    __slots__ = ("by_instance", "kind", "total")

    def __init__(self, kind: PointKind) -> None:
        self.kind = kind
        self.total = 0.0
        """Of deltas."""
        self.by_instance: dict[bytes, float] = {}
        """The last values, or 0 for deltas."""


class ClientSeries:
    def __init__(self, max_series: int = MAX_SERIES) -> None:
        self._max_series = max_series
        self._series: dict[SeriesKey, _Series] = {}
        self._of_instance: dict[bytes, set[SeriesKey]] = {}
        self._values = 0
        self.left_out = 0
        """Points for which there was no room."""

    def __len__(self) -> int:
        return len(self._series)

    def add(self, instance_id: bytes, client_id: str, points: list[Point]) -> None:
        keys = self._of_instance.setdefault(instance_id, set())
        for point in points:
            key = _key(client_id, point)
            if key is None or not self._has_room(key, is_new=key not in keys):
                self.left_out += 1
                continue
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = _Series(point.kind)
            if key not in keys:
                keys.add(key)
                self._values += 1
            if point.kind is PointKind.DELTA:
                series.total += point.value
                series.by_instance[instance_id] = 0.0
            else:
                series.by_instance[instance_id] = point.value

    def _has_room(self, key: SeriesKey, *, is_new: bool) -> bool:
        if is_new and self._values >= MAX_VALUES:
            return False
        return key in self._series or len(self) < self._max_series

    def forget(self, instance_id: bytes) -> None:
        """The client is gone; a series that no other client has is removed."""
        for key in self._of_instance.pop(instance_id, ()):
            self._values -= 1
            series = self._series[key]
            gone = series.by_instance.pop(instance_id)
            if series.kind is PointKind.CUMULATIVE:
                series.total += gone  # a counter must not go back
            if not series.by_instance:
                del self._series[key]

    def samples(self) -> Iterator[tuple[SeriesKey, bool, float]]:
        """Series, whether they are counters, and their values."""
        for key, series in tuple(self._series.items()):
            values = series.by_instance.values()
            if series.kind is PointKind.GAUGE:
                yield key, False, max(values, default=0.0)
            else:
                yield key, True, series.total + sum(values)


def _key(client_id: str, point: Point) -> SeriesKey | None:
    """None for what no sample can have."""
    name = _NOT_IN_NAMES.sub("_", point.name)
    if not name or len(name) > _MAX_TEXT:
        return None
    if not name.startswith(OF_CLIENTS):
        name = f"client_{name}"  # never the name of a metric of the node
    labels = {"client_id": client_id}
    for key, value in point.attributes:
        label = _NOT_IN_NAMES.sub("_", key).lstrip("_")
        if label and not label[0].isdigit() and label not in _LEFT_OUT:
            labels[label] = value
    if len(labels) > _MAX_ATTRIBUTES or any(
        len(text) > _MAX_TEXT for pair in labels.items() for text in pair
    ):
        return None
    return SeriesKey(name, tuple(sorted(labels.items())))

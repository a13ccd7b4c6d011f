"""Points of the plots, kept for some minutes in memory."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from barnabas.client.connect.cluster_metadata import TopicPartition

K = TypeVar("K")

POINTS = 450
_MAX_PARTITIONS = 20_000
"""Beyond, lag is kept for groups only: a cluster of that size has other tools."""


class Throughput(NamedTuple):
    """The cluster at one moment; None where something could not be found out."""

    at_ms: int
    records_s: float | None
    bytes_in_s: float | None
    bytes_out_s: float | None
    lag: int | None


class LagHistory:
    """The lag of groups, and of each of their partitions, over time."""

    def __init__(self) -> None:
        self._groups: dict[str, deque[tuple[int, int]]] = {}
        self._partitions: dict[tuple[str, TopicPartition], deque[tuple[int, int]]] = {}

    def add(self, at_ms: int, lags: Mapping[str, Mapping[TopicPartition, int]]) -> None:
        """One sample of all groups. Groups that are gone are forgotten."""
        for gone in self._groups.keys() - lags.keys():
            del self._groups[gone]
            for key in [each for each in self._partitions if each[0] == gone]:
                del self._partitions[key]
        for group, partitions in lags.items():
            _points(self._groups, group).append((at_ms, sum(partitions.values())))
        if sum(map(len, lags.values())) > _MAX_PARTITIONS:
            self._partitions.clear()
            return
        for group, partitions in lags.items():
            for partition, lag in partitions.items():
                _points(self._partitions, (group, partition)).append((at_ms, lag))

    def of_group(self, group: str) -> list[tuple[int, int]]:
        return list(self._groups.get(group, ()))

    def of_partitions(
        self, group: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[tuple[int, int]]]:
        return {each: list(self._partitions.get((group, each), ())) for each in partitions}


def _points(series: dict[K, deque[tuple[int, int]]], key: K) -> deque[tuple[int, int]]:
    found = series.get(key)
    if found is None:
        found = series[key] = deque(maxlen=POINTS)
    return found

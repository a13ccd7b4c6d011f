"""Partitions that cannot be read now: why, since when, and when they are tried again."""

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from barnabas.client.connect.backoff import pause_before
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.completed_fetch import FetchState
from barnabas.errors import BarnabasError


class _Unavailable(NamedTuple):
    reading: FetchState
    error: BarnabasError
    since: float
    attempts: int
    retry_at: float


class UnavailablePartitions:
    """Of one consumer."""

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster
        self._away: dict[TopicPartition, _Unavailable] = {}
        self._failing_since: float | None = None

    def add(self, reading: FetchState, error: BarnabasError, now: float) -> None:
        """Set a partition aside. What no attempt will change waits until it was raised."""
        known = self._away.get(reading.partition)
        since = now if known is None else known.since
        attempts = 1 if known is None else known.attempts + 1
        retry_at = now + pause_before(attempts) if error.retriable else float("inf")
        self._away[reading.partition] = _Unavailable(reading, error, since, attempts, retry_at)
        if error.retriable:
            self._cluster.on_retry(error, now - since)

    def back(self, reading: FetchState) -> None:
        """It can be read."""
        if self._away:
            self._away.pop(reading.partition, None)
        self._failing_since = None

    def forgive(self, reading: FetchState) -> None:
        """It is read from elsewhere now: try at once."""
        self._away.pop(reading.partition, None)

    def clear(self) -> None:
        self._away.clear()
        self._failing_since = None

    def errors(self) -> Mapping[TopicPartition, BarnabasError]:
        return {partition: each.error for partition, each in self._away.items()}

    def is_away(self, reading: FetchState) -> bool:
        """Whether it is to be left alone for now."""
        away = self._away.get(reading.partition)
        return away is not None and away.reading is reading and away.retry_at > monotonic()

    def pause_s(self) -> float | None:
        """How long until one is to be tried again."""
        if not self._away:
            return None
        return max(0.0, min(each.retry_at for each in self._away.values()) - monotonic())

    async def look_around(self) -> None:
        """Ask anew about those that are to be tried again."""
        now = monotonic()
        due = [each for each in self._away.values() if each.retry_at <= now]
        if not due:
            return
        try:
            await self._cluster.look_around({each.reading.partition.topic for each in due})
        except BarnabasError as error:
            for each in due:
                self.add(each.reading, error, now)

    def failure(self, active: Sequence[FetchState]) -> BarnabasError | None:
        """The error to raise: one for good, or that nothing can be read for too long."""
        for name, each in self._away.items():
            if not each.error.retriable:
                del self._away[name]
                return each.error
        if not active or any(each.partition not in self._away for each in active):
            self._failing_since = None
            return None
        now = monotonic()
        if self._failing_since is None:
            self._failing_since = min(each.since for each in self._away.values())
        if (now - self._failing_since) * 1000 <= self._cluster.retry_timeout_ms:
            return None
        self._failing_since = now
        return next(iter(self._away.values())).error

"""Partitions that cannot be read now: why, since when, and when they are tried again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.client.consumer.completed_fetch import FetchState
from barnabas.errors import BarnabasError, BrokerError, HandshakeFailed, SignInFailed
from barnabas.wire.errors import ErrorCode


class _Unavailable(NamedTuple):
    state: FetchState
    error: BarnabasError
    since: float
    attempts: int
    retry_at: float


_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class UnavailablePartitions:
    """Of one consumer.

    One that `waits` is a service's: once it has read something, it waits for its brokers as long as
    it takes. Others, and one that has never read anything, fail when they have waited too long.
    """

    def __init__(self, cluster: ClusterClient, *, waits: bool = False) -> None:
        self._cluster = cluster
        self._waits = waits
        self._has_read = False
        self._environment = cluster.environment
        self._unavailable: dict[TopicPartition, _Unavailable] = {}
        self._failing_since: float | None = None

    def add(self, state: FetchState, error: BarnabasError, now: float) -> None:
        """Set a partition aside. What no attempt will change waits until it was raised."""
        known = self._unavailable.get(state.partition)
        since = now if known is None else known.since
        attempts = 1 if known is None else known.attempts + 1
        retry_at = (
            now + RETRY.pause(attempts, self._environment.random)
            if error.retriable
            else float("inf")
        )
        self._unavailable[state.partition] = _Unavailable(state, error, since, attempts, retry_at)
        if error.retriable:
            self._cluster.on_retry(error, now - since)

    def back(self, state: FetchState) -> None:
        """It can be read."""
        self._has_read = True
        if self._unavailable:
            self._unavailable.pop(state.partition, None)
        self._failing_since = None

    def retry_now(self, state: FetchState) -> None:
        """It is read from elsewhere now: try at once."""
        self._unavailable.pop(state.partition, None)

    def clear(self) -> None:
        self._unavailable.clear()
        self._failing_since = None

    def errors(self) -> Mapping[TopicPartition, BarnabasError]:
        return {partition: each.error for partition, each in self._unavailable.items()}

    def is_unavailable(self, state: FetchState) -> bool:
        """Whether it is to be left alone for now."""
        unavailable = self._unavailable.get(state.partition)
        return (
            unavailable is not None
            and unavailable.state is state
            and unavailable.retry_at > self._environment.monotonic()
        )

    def pause_s(self) -> float | None:
        """How long until one is to be tried again."""
        if not self._unavailable:
            return None
        return max(
            0.0,
            min(each.retry_at for each in self._unavailable.values())
            - self._environment.monotonic(),
        )

    async def refresh_leaders(self) -> None:
        """Refresh the metadata of those that are to be retried."""
        now = self._environment.monotonic()
        due = [each for each in self._unavailable.values() if each.retry_at <= now]
        if not due:
            return
        try:
            await self._cluster.refresh_leaders({each.state.partition.topic for each in due})
        except BarnabasError as error:
            for each in due:
                self.add(each.state, error, now)

    def failure(self, active: Sequence[FetchState]) -> BarnabasError | None:
        """The error to raise: one for good, or that nothing can be read for too long."""
        for name, each in self._unavailable.items():
            # The application gets the records before it first.
            if not each.error.retriable and not each.state.has_undelivered:
                del self._unavailable[name]
                return each.error
        if not active or any(each.partition not in self._unavailable for each in active):
            self._failing_since = None
            return None
        now = self._environment.monotonic()
        if self._failing_since is None:
            self._failing_since = min(each.since for each in self._unavailable.values())
        if (now - self._failing_since) * 1000 <= self._cluster.retry_timeout_ms:
            return None
        errors = [each.error for each in self._unavailable.values()]
        if self._waits and self._has_read:
            errors = [error for error in errors if _is_final(error)]
            if not errors:
                return None
        self._failing_since = now
        return errors[0]


def _is_final(error: BarnabasError) -> bool:
    """Whether waiting for longer is of no use without a change by somebody."""
    if isinstance(error, BrokerError):
        return error.code in _GONE
    return isinstance(error, SignInFailed | HandshakeFailed)

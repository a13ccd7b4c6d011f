"""How fast replicas that catch up are copied, so that a move leaves room for clients.

Kafka's `leader.replication.throttled.rate` and `follower.replication.throttled.rate`. All bytes of
the replicas that their topics name count; only those that are not in sync have to wait.
"""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import Protocol

from barnabas.security.quotas.rate import QuotaWindows, SimpleRate


class Resumable(Protocol):
    def resume_followers(self) -> None:
        """Followers that were throttled may read on."""


class ReplicationQuota:
    """One rate of a node: of what it sends, or of what it copies."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        now_ms: Callable[[], int],
        windows: QuotaWindows,
        bound: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._now_ms = now_ms
        self._windows = windows
        self._bound = bound
        self._rate: SimpleRate | None = None
        """Begins with the first bytes: the time before them earns nothing."""
        self._held: dict[Resumable, None] = {}
        """Partitions whose followers wait; in order of arrival."""
        self._timer: TimerHandle | None = None

    def record(self, size: int) -> None:
        now_ms = self._now_ms()
        if self._rate is None or self._rate.is_over(now_ms, self._windows):
            self._rate = SimpleRate(now_ms)
        self._rate.record(size, now_ms, self._windows)

    def throttle_ms(self) -> int:
        """How long replicas that are not in sync have to wait."""
        if self._rate is None:
            return 0
        return self._rate.throttle_ms(self._bound(), self._now_ms(), self._windows)

    def per_second(self) -> float:
        """Bytes a second of the replicas that are throttled."""
        now_ms = self._now_ms()
        if self._rate is None or self._rate.is_over(now_ms, self._windows):
            return 0.0
        return self._rate.per_second(now_ms, self._windows)

    def holds(self, partition: Resumable) -> bool:
        """Whether followers of `partition` have to wait; they are resumed when that is over."""
        throttle_ms = self.throttle_ms()
        if not throttle_ms:
            return False
        self._held[partition] = None
        if self._timer is None:
            # Not much longer than a window: the bound may be raised meanwhile.
            wait_ms = min(throttle_ms, self._windows.size_ms)
            self._timer = self._loop.call_later(wait_ms / 1_000, self._resume)
        return True

    def _resume(self) -> None:
        self._timer = None
        held, self._held = self._held, {}
        for partition in held:
            partition.resume_followers()

"""The limits of one client, and what it has used of them.

Bytes produced are counted when they arrive. The time that requests take, and the bytes of fetches,
are known only afterwards, so they throttle the next request. That differs from Kafka, which reads
for a fetch, and throws away what was read if it is too much.
"""

from dataclasses import dataclass
from typing import Final

from barnabas.security.quotas.rate import QuotaWindows, Rate
from barnabas.security.quotas.token_bucket import TokenBucket

_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class LimitedRate:
    bound: float
    rate: Rate

    def throttle_ms(self, now_ms: int, windows: QuotaWindows) -> int:
        return self.rate.throttle_ms(self.bound, now_ms, windows)


@dataclass(frozen=True, slots=True)
class LimitedMutations:
    bound: float
    bucket: TokenBucket


@dataclass(frozen=True, slots=True)
class LimitedClient:
    """None stands for no limit. Other clients may share a rate."""

    windows: QuotaWindows
    mutation_windows: QuotaWindows
    produce: LimitedRate | None
    fetch: LimitedRate | None
    request: LimitedRate | None
    mutations: LimitedMutations | None

    @property
    def is_limited(self) -> bool:
        return any((self.produce, self.fetch, self.request, self.mutations))

    def produced(self, size: int, now_ms: int) -> int:
        """Count a Produce request; the throttle time."""
        limit = self.produce
        if limit is None:
            return 0
        limit.rate.record(size, now_ms, self.windows)
        return limit.throttle_ms(now_ms, self.windows)

    def fetched(self, size: int, now_ms: int) -> None:
        if self.fetch is not None:
            self.fetch.rate.record(size, now_ms, self.windows)

    def fetch_throttle_ms(self, now_ms: int) -> int:
        return 0 if self.fetch is None else self.fetch.throttle_ms(now_ms, self.windows)

    @property
    def fetch_max_bytes(self) -> int | None:
        """What a client that was quiet may fetch at once."""
        if self.fetch is None:
            return None
        return max(1, int(self.fetch.bound * self.windows.burst_s))

    def worked(self, seconds: float, now_ms: int) -> None:
        """The broker worked for the client."""
        if self.request is not None:
            self.request.rate.record(seconds * _PERCENT, now_ms, self.windows)

    def request_throttle_ms(self, now_ms: int) -> int:
        """At most one window, as in Kafka: one expensive request does not silence a client."""
        limit = self.request
        if limit is None:
            return 0
        return min(limit.throttle_ms(now_ms, self.windows), self.windows.size_ms)

    def take_mutations(self, count: int, now_ms: int) -> None:
        """Partitions were created or deleted; a negative count gives back."""
        limit = self.mutations
        if limit is not None:
            limit.bucket.take(count, limit.bound, now_ms, self.mutation_windows)

    def mutation_throttle_ms(self, now_ms: int) -> int:
        limit = self.mutations
        if limit is None:
            return 0
        return limit.bucket.throttle_ms(limit.bound, now_ms, self.mutation_windows)

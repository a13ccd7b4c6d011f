"""The limits of every client that sends requests to this node, and what each has used.

Limits are per node, as in Kafka: a client that produces to three nodes may use its limit at each.
Clients that share a limit share its rate. Usage is soft state, and begins with a restart.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from barnabas.broker.quotas.limited_client import LimitedClient, LimitedMutations, LimitedRate
from barnabas.broker.quotas.throttle_times import ThrottleTimes
from barnabas.broker.settings.component_settings import QuotaSettings
from barnabas.metadata.client_quotas_image import QuotaEntity
from barnabas.security.quotas.precedence import QuotaLimit, QuotaLimits
from barnabas.security.quotas.quota_key import QuotaKey
from barnabas.security.quotas.rate import QuotaWindows, Rate
from barnabas.security.quotas.token_bucket import TokenBucket

_KEPT = 1_000
"""Clients that are remembered without looking for some to forget."""


class QuotaUsage(NamedTuple):
    """None stands for all users, or all client ids, of one limit."""

    key: QuotaKey
    user: str | None
    client_id: str | None
    per_second: float
    throttle_ms: int


_Sharing = tuple[QuotaKey, tuple[str | None, str | None]]


class ClientQuotas:
    def __init__(
        self, now_ms: Callable[[], int], now_s: Callable[[], float], settings: QuotaSettings
    ) -> None:
        self.now_ms = now_ms
        self.now_s = now_s
        """A finer clock, for the time that requests take."""
        self._windows = QuotaWindows(settings.window_num, settings.window_size_seconds * 1_000)
        self._mutation_windows = QuotaWindows(
            settings.controller_window_num, settings.controller_window_size_seconds * 1_000
        )
        self.limits = QuotaLimits({})
        self._clients: dict[tuple[str, bytes], LimitedClient | None] = {}
        """By user and client id."""
        self._rates: dict[_Sharing, LimitedRate] = {}
        self._mutations: dict[tuple[str | None, str | None], LimitedMutations] = {}
        self._forget_at = _KEPT
        self.throttle_times = ThrottleTimes()
        self.on_change: Callable[[], None] | None = None
        """Called when the limits have changed."""

    def apply(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Use these limits from now on; what was used counts against them."""
        self.limits = QuotaLimits(quotas)
        self._clients.clear()
        if not self.limits.has_clients:
            self._rates.clear()
            self._mutations.clear()
        if self.on_change is not None:
            self.on_change()

    def client(self, user: str, client_id: bytes) -> LimitedClient | None:
        """None for a client without limits."""
        try:
            return self._clients[user, client_id]
        except KeyError:
            if len(self._clients) >= self._forget_at:
                self._forget()
            client = self._new_client(user, client_id.decode(errors="replace"))
            found = self._clients[user, client_id] = client if client.is_limited else None
            return found

    def _new_client(self, user: str, client_id: str) -> LimitedClient:
        def limit(key: QuotaKey) -> QuotaLimit | None:
            return self.limits.of_client(key, user, client_id)

        return LimitedClient(
            self._windows,
            self._mutation_windows,
            self._rate(QuotaKey.PRODUCER_BYTE_RATE, limit),
            self._rate(QuotaKey.CONSUMER_BYTE_RATE, limit),
            self._rate(QuotaKey.REQUEST_PERCENTAGE, limit),
            self._limited_mutations(limit),
        )

    def _rate(
        self, key: QuotaKey, limit: Callable[[QuotaKey], QuotaLimit | None]
    ) -> LimitedRate | None:
        found = limit(key)
        if found is None:
            return None
        shared = (key, found.sharing)
        before = self._rates.get(shared)
        rate = Rate(self.now_ms()) if before is None else before.rate
        limited = self._rates[shared] = LimitedRate(found.bound, rate)
        return limited

    def _limited_mutations(
        self, limit: Callable[[QuotaKey], QuotaLimit | None]
    ) -> LimitedMutations | None:
        found = limit(QuotaKey.CONTROLLER_MUTATION_RATE)
        if found is None:
            return None
        before = self._mutations.get(found.sharing)
        bucket = (
            TokenBucket(found.bound, self.now_ms(), self._mutation_windows)
            if before is None
            else before.bucket
        )
        limited = self._mutations[found.sharing] = LimitedMutations(found.bound, bucket)
        return limited

    def usage(self) -> Iterator[QuotaUsage]:
        """What those with limits have used of them lately."""
        now_ms = self.now_ms()
        for (key, (user, client_id)), limited in self._rates.items():
            if not limited.rate.is_over(now_ms, self._windows):
                yield QuotaUsage(
                    key,
                    user,
                    client_id,
                    limited.rate.per_second(now_ms, self._windows),
                    limited.throttle_ms(now_ms, self._windows),
                )

    def _forget(self) -> None:
        """Forget clients, and rates that say nothing: client ids are the clients' choice."""
        now_ms = self.now_ms()
        self._clients.clear()
        self._rates = {
            shared: limited
            for shared, limited in self._rates.items()
            if not limited.rate.is_over(now_ms, self._windows)
        }
        self._mutations = {
            sharing: limited
            for sharing, limited in self._mutations.items()
            if not limited.bucket.is_full(limited.bound, now_ms, self._mutation_windows)
        }
        self._forget_at = max(_KEPT, 2 * len(self._rates), 2 * len(self._mutations))

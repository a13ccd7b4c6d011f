"""How fast addresses connect: `connection_creation_rate`.

A connection beyond the rate is not served, and closed when its throttle time is over: a client
that was closed at once would connect again at once.
"""

import logging
from collections.abc import Callable

from barnabas.broker.settings.component_settings import QuotaSettings
from barnabas.security.quotas.precedence import QuotaLimits
from barnabas.security.quotas.rate import QuotaWindows, Rate

logger = logging.getLogger(__name__)

_KEPT = 1_000
"""Addresses that are remembered without looking for some to forget."""
_LOG_EVERY_S = 60.0


class ConnectionRates:
    def __init__(self, now: Callable[[], float], settings: QuotaSettings) -> None:
        self._now = now
        self._windows = QuotaWindows(settings.window_num, settings.window_size_seconds * 1_000)
        self.limits = QuotaLimits({})
        self._rates: dict[str, Rate] = {}
        self._forget_at = _KEPT
        self._log_at = 0.0
        self.throttled = 0
        """Connections that were not served, as there were too many before them."""

    def connected(self, address: str) -> float:
        """Count a connection; for how many seconds it is throttled, and then not counted."""
        bound = self.limits.of_address(address) if self.limits.has_addresses else None
        if bound is None:
            return 0.0
        now_ms = int(self._now() * 1_000)
        rate = self._rates.get(address)
        if rate is None:
            if len(self._rates) >= self._forget_at:
                self._forget(now_ms)
            rate = self._rates[address] = Rate(now_ms)
        rate.record(1, now_ms, self._windows)
        throttle_ms = min(rate.throttle_ms(bound, now_ms, self._windows), self._windows.size_ms)
        if throttle_ms:
            rate.record(-1, now_ms, self._windows)
            self.throttled += 1
            self._log(address, bound)
        return throttle_ms / 1_000

    def is_over(self, address: str) -> bool:
        """Whether one more connection would be throttled; it is not counted."""
        bound = self.limits.of_address(address) if self.limits.has_addresses else None
        rate = self._rates.get(address)
        if bound is None or rate is None:
            return False
        now_ms = int(self._now() * 1_000)
        rate.record(1, now_ms, self._windows)
        throttle_ms = rate.throttle_ms(bound, now_ms, self._windows)
        rate.record(-1, now_ms, self._windows)
        return throttle_ms > 0

    def take_back(self, address: str) -> None:
        """A connection that was counted turned out to be a node's."""
        rate = self._rates.get(address)
        if rate is not None:
            rate.record(-1, int(self._now() * 1_000), self._windows)

    def _forget(self, now_ms: int) -> None:
        self._rates = {
            address: rate
            for address, rate in self._rates.items()
            if not rate.is_over(now_ms, self._windows)
        }
        self._forget_at = max(_KEPT, 2 * len(self._rates))  # or each address would look at all

    def _log(self, address: str, bound: float) -> None:
        if self._now() >= self._log_at:
            self._log_at = self._now() + _LOG_EVERY_S
            logger.warning(
                "connections from %s are throttled: connection_creation_rate is %g a second",
                address,
                bound,
            )

"""How often brokers deliver a record of a share group: `share.delivery.count.limit`."""

import sys
from collections.abc import Awaitable, Callable

from barnabas.app.clock import Clock

_LEAST = 2  # deliveries that any limit allows
_KNOWN_MS = 60_000


class DeliveryLimit:
    """Of one group; asked for when a record comes again, and every minute, since it may change."""

    def __init__(self, ask: Callable[[], Awaitable[int]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._limit = sys.maxsize
        self._asked_ms: int | None = None

    async def is_reached(self, delivery_count: int) -> bool:
        """Whether a record is dropped if this delivery is not the last."""
        if delivery_count < _LEAST:
            return False
        now_ms = self._clock.time_ms()
        if self._asked_ms is None or now_ms - self._asked_ms > _KNOWN_MS:
            self._limit = await self._ask()
            self._asked_ms = now_ms
        return delivery_count >= self._limit

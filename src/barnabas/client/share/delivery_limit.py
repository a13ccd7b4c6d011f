"""How often brokers deliver a record of a share group: `share.delivery.count.limit`."""

import sys
from collections.abc import Awaitable, Callable

DEFAULT_LIMIT = 5
"""As of Kafka, where a group may not be asked."""
LEAST_LIMIT = 2  # deliveries that any limit allows
_KNOWN_S = 60.0


class DeliveryLimit:
    """Of one group; asked for when a record comes again, and every minute, since it may change."""

    def __init__(self, ask: Callable[[], Awaitable[int]], time_s: Callable[[], float]) -> None:
        self._ask = ask
        self._time_s = time_s
        self._limit = sys.maxsize
        self._asked_at: float | None = None

    async def is_reached(self, delivery_count: int) -> bool:
        """Whether a record is dropped if this delivery is not the last."""
        if delivery_count < LEAST_LIMIT:
            return False
        now = self._time_s()
        if self._asked_at is None or now - self._asked_at > _KNOWN_S:
            self._limit = await self._ask()
            self._asked_at = now
        return delivery_count >= self._limit

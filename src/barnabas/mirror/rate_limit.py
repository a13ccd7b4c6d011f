"""How many bytes may be copied when.

A bucket that fills at the rate, and holds what comes in within a second: what was not used before
gives no right to a burst.
"""

import asyncio
from collections.abc import Callable


class RateLimit:
    """Of one task; its partitions share it."""

    def __init__(self, bytes_per_second: float | None, monotonic: Callable[[], float]) -> None:
        """None: no limit."""
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._free_at = monotonic()

    async def take(self, size: int) -> None:
        """Wait until so many bytes may be copied; larger ones than a second's keep later ones out.

        The debt is noted before the wait, so that waiting partitions take turns.
        """
        if self._rate is None:
            return
        now = self._monotonic()
        begin = max(self._free_at, now - 1.0)
        self._free_at = begin + size / self._rate
        if begin > now:
            await asyncio.sleep(begin - now)

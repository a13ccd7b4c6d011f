"""How much a task writes at once, so that a slow link is filled and no transaction times out.

All transactions of a task share it. It grows while full use of it is answered soon, and shrinks
when answers take long, once for each set of transactions that began with the same budget:

    answered in less than 4 s    twice as much
    in more than 12 s            half of it
    not in time at all           half of it, and all of that is written again

So a link of 100 kB/s has about 0.5 MB under way, and one of 100 MB/s as much as memory allows. A
transaction takes half of the budget at most: while one commits, another one uses the link.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from barnabas.errors import RequestTimedOut

LEAST_BYTES = 128 * 1024
START_BYTES = 512 * 1024
MOST_BYTES = 32 * 1024 * 1024

MOST_TRANSACTION_BYTES = 4 * 1024 * 1024
"""Larger ones cost no less, and readers of the target would wait longer."""

SOON_S = 4.0
LATE_S = 12.0


class WriteBudget:
    """Of one task, in one event loop."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.bytes = START_BYTES
        self._monotonic = monotonic
        self._in_flight = 0
        self._changed_at = monotonic()
        self._turn = asyncio.Lock()  # waiting transactions take turns
        self._room = asyncio.Event()

    @property
    def transaction_bytes(self) -> int:
        """A transaction ends with the batch that brings it there."""
        return min(MOST_TRANSACTION_BYTES, self.bytes // 2)

    @asynccontextmanager
    async def taken(self, size: int) -> AsyncIterator[None]:
        """Write so much, when it is time for that; alone if it is larger than the budget."""
        async with self._turn:
            while self._in_flight and self._in_flight + size > self.bytes:
                self._room.clear()
                await self._room.wait()
            self._in_flight += size
        began = self._monotonic()
        is_full = self._in_flight >= self.bytes // 2
        try:
            yield
            took_s = self._monotonic() - began
            if took_s > LATE_S:
                self._change(began, self.bytes // 2)
            elif took_s < SOON_S and is_full:
                self._change(began, self.bytes * 2)
        except RequestTimedOut:
            self._change(began, self.bytes // 2)
            raise
        finally:
            self._in_flight -= size
            self._room.set()

    def _change(self, began: float, wanted: int) -> None:
        """What began before the last change says nothing about the budget after it."""
        if began >= self._changed_at:
            self.bytes = max(LEAST_BYTES, min(MOST_BYTES, wanted))
            self._changed_at = self._monotonic()

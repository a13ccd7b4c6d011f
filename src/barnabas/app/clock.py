"""The time, as an argument: tests have one that stands still until they move it."""

import asyncio
import time
from typing import Protocol

_LONGEST_S = 60.0


class Clock(Protocol):
    def time_ms(self) -> int:
        """Milliseconds since the epoch."""

    async def sleep(self, pause_s: float) -> None: ...

    async def sleep_until(self, due_ms: int) -> None: ...


class SystemClock:
    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)

    async def sleep_until(self, due_ms: int) -> None:
        """Look at the clock every minute: it may be set, and a machine may be suspended."""
        while (left_s := (due_ms - self.time_ms()) / 1000) > 0:  # noqa: ASYNC110 - not an event
            await asyncio.sleep(min(left_s, _LONGEST_S))

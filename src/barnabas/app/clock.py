"""The time, as an argument: tests have one that stands still until they move it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    def time_ms(self) -> int:
        """Milliseconds since the epoch."""

    async def sleep(self, pause_s: float) -> None: ...


class SystemClock:
    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)

"""Functions that are called again and again: `@app.every("10s")`."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas.app.clock import Clock

_log = logging.getLogger("barnabas.app")


@dataclass(frozen=True)
class Timer:
    """A function, and the pause between the starts of two calls."""

    name: str
    function: Callable[[], Any]
    every_s: float

    async def run(self, clock: Clock, *, in_threads: bool = True) -> None:
        """Call it until this is cancelled. A call that takes longer delays the next one."""
        due_ms = clock.time_ms() + 1000 * self.every_s
        while True:
            await clock.sleep(max(0.0, (due_ms - clock.time_ms()) / 1000))
            try:
                if inspect.iscoroutinefunction(self.function):
                    await self.function()
                elif in_threads:
                    await asyncio.to_thread(self.function)
                else:
                    self.function()
            except Exception:  # noqa: BLE001 - whatever a function raises
                _log.exception("timer %s failed; it will be called again", self.name)
            due_ms = max(due_ms + 1000 * self.every_s, clock.time_ms())

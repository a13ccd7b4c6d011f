"""Functions that are called again and again: `@app.every("10s")`."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas.app.calls import call
from barnabas.app.clock import Clock
from barnabas.app.dependencies import RunSync

_log = logging.getLogger("barnabas.app")


@dataclass(frozen=True)
class Timer:
    """A function, and the pause between the starts of two calls."""

    name: str
    function: Callable[[], Any]
    every_s: float

    async def run(self, clock: Clock, run_sync: RunSync) -> None:
        """Call it until this is cancelled. A call that takes longer delays the next one."""
        due_ms = clock.time_ms() + 1000 * self.every_s
        while True:
            await clock.sleep(max(0.0, (due_ms - clock.time_ms()) / 1000))
            try:
                await call(self.function, run_sync=run_sync)
            except Exception:  # noqa: BLE001 - whatever a function raises
                _log.exception("timer %s failed; it will be called again", self.name)
            due_ms = max(due_ms + 1000 * self.every_s, clock.time_ms())

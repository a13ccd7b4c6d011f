"""An event loop that counts only the time in which it waited, and nothing happened.

For a client and a broker of a test that talk over sockets of one process. Where the machine gives
that process no time, or late, no timeout passes: a short one ends only what really is silent.
"""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any

from barnabas.client.connect.environment import SYSTEM

LIMIT_S = 120.0
_STEP_S = 0.001
"""How much of a wait that something ended is counted, and of the work after it: the rest is the
machine's fault."""


class _Counting(selectors.DefaultSelector):
    loop: "PatientLoop"

    ended = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        began = time.monotonic()
        worked = min(began - self.ended, _STEP_S)
        events = super().select(timeout)
        self.ended = time.monotonic()
        waited = self.ended - began
        if events or timeout is None:
            waited = min(waited, _STEP_S)
        self.loop.now += worked + (waited if timeout is None else min(waited, timeout))
        return events


class PatientLoop(asyncio.SelectorEventLoop):
    """Starts at 0 seconds."""

    def __init__(self) -> None:
        selector = _Counting()
        selector.loop = self
        self.now = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a test whose clients have the time of this loop."""
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        before = SYSTEM.monotonic
        object.__setattr__(SYSTEM, "monotonic", runner.get_loop().time)  # of all clients
        try:
            runner.run(asyncio.wait_for(main, LIMIT_S))
        finally:
            object.__setattr__(SYSTEM, "monotonic", before)

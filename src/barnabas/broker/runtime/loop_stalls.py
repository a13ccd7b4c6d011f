"""How long this node's event loop has been stalled: on an overloaded machine, while the process was
suspended, or in a computation that took too long.

Silence of other nodes during a stall proves nothing, as their messages may wait unread. So session
timeouts subtract the time counted here.
"""

from asyncio import AbstractEventLoop, TimerHandle

from barnabas.broker.runtime.clock import Clock
from barnabas.metrics.histogram import DELAYS_S, Histogram

_LOOK_EVERY_MS = 100
NOTICED_MS = 50
"""A timer that is this late was not just queued behind others."""


class LoopStalls:
    def __init__(self, loop: AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._timer: TimerHandle | None = None
        self._due_ms = 0
        self._total_ms = 0
        self.delays = Histogram(DELAYS_S)
        """How late the event loop was, in seconds, each time it was looked at."""

    def start(self) -> None:
        self._due_ms = self._clock.steady_ms() + _LOOK_EVERY_MS
        self._timer = self._loop.call_later(_LOOK_EVERY_MS / 1000, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def total_ms(self) -> int:
        """The total up to now; correct also for a caller that runs right after a stall."""
        late_ms = self._clock.steady_ms() - self._due_ms
        if self._timer is not None and late_ms >= NOTICED_MS:
            self._total_ms += late_ms
            self._due_ms += late_ms
        return self._total_ms

    def _check(self) -> None:
        self.delays.observe(max(0, self._clock.steady_ms() - self._due_ms) / 1000)
        self.total_ms()
        self.start()

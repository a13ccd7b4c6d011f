"""How long this node's event loop has stood still: on a machine with too much to do, while the
process was suspended, or in a computation that took too long.

Silence of others meanwhile proves nothing, as what they have sent may wait unread. So whoever
counts silence leaves out what is noted here.
"""

from asyncio import AbstractEventLoop, TimerHandle

from barnabas.broker.runtime.clock import Clock

_LOOK_EVERY_MS = 100
NOTICED_MS = 50
"""A timer that is so late was not just in a queue behind others."""


class LoopStalls:
    def __init__(self, loop: AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._timer: TimerHandle | None = None
        self._due_ms = 0
        self._total_ms = 0

    def start(self) -> None:
        self._due_ms = self._clock.steady_ms() + _LOOK_EVERY_MS
        self._timer = self._loop.call_later(_LOOK_EVERY_MS / 1000, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def total_ms(self) -> int:
        """How long in all, up to now: also for who is called right after it has stood still."""
        late_ms = self._clock.steady_ms() - self._due_ms
        if self._timer is not None and late_ms >= NOTICED_MS:
            self._total_ms += late_ms
            self._due_ms += late_ms
        return self._total_ms

    def _check(self) -> None:
        self.total_ms()
        self.start()

"""The time in which a connection handles and reads nothing, because its client is over a quota.

It is measured by the clock of the quota. The time of the event loop stands still during a step, so
a timer alone is over early, and the client would be refused after it has waited as it was told.
"""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable


class Muting:
    __slots__ = ("_now_ms", "_on_end", "_timer", "_until_ms")

    def __init__(self, on_end: Callable[[], None], now_ms: Callable[[], int]) -> None:
        self._on_end = on_end
        self._now_ms = now_ms
        self._until_ms = 0
        self._timer: TimerHandle | None = None

    @property
    def is_on(self) -> bool:
        return self._timer is not None

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return 0.0 if self._timer is None else max(0, self._until_ms - self._now_ms()) / 1_000

    def extend(self, throttle_ms: int) -> None:
        """Be mute for as long as this from now on, or as before if that is longer."""
        until_ms = self._now_ms() + throttle_ms
        if self._timer is not None:
            if self._until_ms >= until_ms:
                return
            self._timer.cancel()
        self._until_ms = until_ms
        self._wait(throttle_ms)

    def _wait(self, left_ms: int) -> None:
        self._timer = get_running_loop().call_later(left_ms / 1_000, self._look)

    def _look(self) -> None:
        left_ms = self._until_ms - self._now_ms()
        if left_ms > 0:
            self._wait(left_ms)
            return
        self._timer = None
        self._on_end()

    def cancel(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()

"""The time in which a connection handles and reads nothing, because its client is over a quota."""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable


class Muting:
    __slots__ = ("_end", "_on_end")

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._end: TimerHandle | None = None

    @property
    def is_on(self) -> bool:
        return self._end is not None

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return 0.0 if self._end is None else max(0.0, self._end.when() - get_running_loop().time())

    def extend(self, seconds: float) -> None:
        """Be mute for as long as this from now on, or as before if that is longer."""
        loop = get_running_loop()
        until = loop.time() + seconds
        if self._end is not None:
            if self._end.when() >= until:
                return
            self._end.cancel()
        self._end = loop.call_at(until, self._over)

    def _over(self) -> None:
        self._end = None
        self._on_end()

    def cancel(self) -> None:
        """The connection is lost."""
        if self._end is not None:
            self._end.cancel()

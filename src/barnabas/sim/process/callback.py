"""What asyncio calls handles: a callback that is to run soon, or at a time."""

from collections.abc import Callable
from typing import Any


class Callback:
    """What asyncio calls a handle: something to run, unless it is cancelled before.

    It runs in the context of the simulation, whatever asyncio asks for: no code here has context
    variables, and each change of the context would cost.
    """

    __slots__ = ("args", "callback")

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def cancel(self) -> None:
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        return self.callback is None


class Timer(Callback):
    """A callback for later, which knows when, by the clock of its process."""

    __slots__ = ("_when",)

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._when = when
        self.callback = callback
        self.args = args

    def when(self) -> float:
        return self._when

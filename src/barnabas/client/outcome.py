"""What comes of work in another thread, for a thread that an interrupt may strike at any point.

Ctrl-C raises KeyboardInterrupt wherever the main thread is, and handlers of signals may raise
SystemExit there. `concurrent.futures.Future` and `threading.Event` are written in Python: struck
while they take or give back their lock, they raise RuntimeError in place of the interrupt, or keep
the lock, and the thread that sets the result waits for ever. So each waiting thread uses a lock of
its own here, which is written in C: it has it or not.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Outcome(Generic[T]):
    """A value, or an error in place of it. The first one that is set counts."""

    def __init__(self) -> None:
        self._said: list[tuple[T | None, BaseException | None]] = []
        self._calls: list[Callable[[], object]] = []

    def set(self, value: T | None = None, error: BaseException | None = None) -> None:
        """Wake those that wait. For any thread, as everything here."""
        said = (value, error)
        self._said.append(said)
        if self._said[0] is said:
            for call in self._calls:
                call()
            self._calls.clear()  # they may refer to this

    @property
    def is_set(self) -> bool:
        return bool(self._said)

    def when_set(self, call: Callable[[], object]) -> None:
        """Have something called: by the thread that sets the outcome, or at once, or by both."""
        self._calls.append(call)
        if self.is_set:
            call()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until it is set, or the time is over; whether it is set."""
        asleep = threading.Lock()
        asleep.acquire()
        self._calls.append(asleep.release)
        if not self.is_set:
            asleep.acquire(timeout=-1 if timeout_s is None else max(0.0, timeout_s))
        return self.is_set

    def result(self) -> T:
        """The value, or the error raised; once it is set."""
        value, error = self._said[0]
        if error is not None:
            try:
                raise error
            finally:
                del error  # which refers to this frame
        return value  # type: ignore[return-value]  # what has no error has a value


class Call(Outcome[T]):
    """A coroutine that runs in the loop of another thread.

    Only that thread refers to its task. The last one to do so forgets the task in asyncio's set of
    all tasks, by a callback that would swallow an interrupt.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        """Raises RuntimeError if the loop is closed."""
        super().__init__()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._begin, coroutine)

    def cancel(self) -> None:
        """Let nobody wait for it any longer, and cancel it there."""
        self.set(error=asyncio.CancelledError())
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, coroutine: Coroutine[Any, Any, T]) -> None:
        if self.is_set:
            coroutine.close()
            return
        self._task = self._loop.create_task(coroutine)
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: "asyncio.Task[T]") -> None:
        self._task = None
        if task.cancelled():
            self.set(error=asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self.set(error=error)
        else:
            self.set(task.result())

"""How clients for asyncio wait for their core: without holding up the application's loop.

`sync/waiting.py` has the same class for threads; everything else of the blocking clients is
generated from the files in this package.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.client.connect.option_hints import check_options
from barnabas.client.engine import Core, register
from barnabas.errors import BarnabasError

T = TypeVar("T")


class Client:
    """The base of Producer, Consumer and Admin."""

    if not TYPE_CHECKING:  # which knows the options by `__init__`

        def __new__(cls, *arguments: object, **options: object) -> Self:
            check_options(cls, arguments, options)
            return super().__new__(cls)

    def __init__(self, core: Core, on_fork: Callable[[], object] = lambda: None) -> None:
        self._registration = register(core, type(self).__name__, on_fork)

    async def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of the core returns; cancelling cancels it there."""
        future = self._registration.submit(coroutine)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            raise self._registration.cut_short() from None

    async def _breathe(self) -> None:
        """Let other tasks run, where nothing has to be waited for."""
        await asyncio.sleep(0)

    async def _call(self, callback: Callable[[T], object], argument: T) -> object:
        """What the application has given, a function or a coroutine function, returns."""
        called = callback(argument)
        return await called if isinstance(called, Awaitable) else called

    async def _run(self, function: Callable[[], object]) -> None:
        """Call a function that blocks, in another thread."""
        await asyncio.to_thread(function)

    async def close(self) -> None:
        """Finish what was begun, and leave nothing behind. Once is enough, twice does no harm."""
        if self._registration.closed and self._registration.close().is_set:
            return
        closed = self._registration.close()
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # that loop has ended, with its waiters
                loop.call_soon_threadsafe(done.set)

        closed.when_set(wake)
        try:
            await done.wait()
        except asyncio.CancelledError:
            self._registration.hurry()
            raise
        error = closed.result()
        self._registration.join()
        if error is not None:
            raise error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close. What goes wrong then is raised, or noted in the exception that is on its way."""
        try:
            await self.close()
        except BarnabasError as failure:
            if error is None:
                raise
            error.add_note(f"Besides, closing the {self._registration.name} failed: {failure}")

    def __del__(self) -> None:
        if hasattr(self, "_registration"):  # else its making failed
            self._registration.abandon(self)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

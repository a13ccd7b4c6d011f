"""How blocking clients wait for their core: the calling thread sleeps, and Ctrl-C wakes it.

In the thread of a running event loop they work too, and hold that loop up meanwhile, as everything
does that blocks. That is said in the documentation and not by a warning: a notebook's cells run in
such a thread.
"""

from asyncio import CancelledError
from collections.abc import Callable, Coroutine
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

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of the core returns; an interrupt cancels it there."""
        try:
            self._registration.check_thread()
        except BaseException:
            coroutine.close()
            raise
        call = self._registration.call(coroutine)
        try:
            call.wait()
        except BaseException:  # an interrupt
            call.cancel()
            raise
        try:
            return call.result()
        except CancelledError:
            raise self._registration.cut_short() from None

    def _breathe(self) -> None:
        """Threads need no help to let others run."""

    def _call(self, callback: Callable[[T], object], argument: T) -> object:
        """What the application has given returns."""
        called = callback(argument)
        if isinstance(called, Coroutine):
            called.close()
            raise TypeError(f"{callback!r} is not for a blocking client: it has to be awaited")
        return called

    def _run(self, function: Callable[[], object]) -> None:
        """Call a function that blocks."""
        function()

    def close(self) -> None:
        """Finish what was begun, and leave nothing behind. Once is enough, twice does no harm."""
        if self._registration.closed and self._registration.close().is_set:
            return
        self._registration.check_thread()
        closed = self._registration.close()
        try:
            closed.wait()
        except BaseException:  # an interrupt
            self._registration.hurry()
            raise
        self._registration.join()
        if (error := closed.result()) is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close. What goes wrong then is raised, or noted in the exception that is on its way."""
        try:
            self.close()
        except BarnabasError as failure:
            if error is None:
                raise
            error.add_note(f"Besides, closing the {self._registration.name} failed: {failure}")

    def __del__(self) -> None:
        if hasattr(self, "_registration"):  # else its making failed
            self._registration.abandon(self)

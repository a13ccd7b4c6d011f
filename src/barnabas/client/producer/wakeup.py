"""What wakes the producer's loop, from any thread."""

import asyncio
from threading import get_ident

from barnabas.errors import WaitsForItself


class Wakeup:
    """Rings once, however often it is called before the loop has come."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._called = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def start(self) -> None:
        """Belong to the running loop from now on."""
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()

    def call(self) -> None:
        """Let the loop look what there is to do; from any thread."""
        if not self._called and self._loop is not None:
            self._called = True
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, timeout_s: float | None) -> None:
        """Sleep until `wake` is called, or for `timeout_s`.

        A call from now on is for something that the loop has not seen.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        except TimeoutError:
            pass
        self._event.clear()
        self._called = False

    def check_thread(self) -> None:
        """Raise if the present thread is the loop's: it must never block to wait for itself."""
        if get_ident() == self._thread:
            raise WaitsForItself(
                "a callback, or a coroutine of the thread that sends, waits there for a record: "
                "use `await`, or do it elsewhere"
            )

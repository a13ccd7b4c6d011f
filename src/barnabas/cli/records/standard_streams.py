"""Reading standard input and writing standard output without stopping the event loop.

Both may block indefinitely: a terminal without input, a pager that is not scrolled.
Meanwhile heartbeats have to go on and Ctrl-C has to work. The calls run in a daemon thread: one of
a pool would keep the process from ending. They use the descriptor itself, since Python's buffered
files must not be in use when the interpreter ends, and lose data when a signal cuts a write short.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

STDIN = 0
STDOUT = 1
_CHUNK_BYTES = 256 * 1024

T = TypeVar("T")


class BlockingCalls(Generic[T]):
    """Runs calls that may block, one after the other; they may raise nothing but OSError."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, call: Callable[[], T]) -> T:
        """Wait for a call. Cancelling stops the waiting, not the call."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def run_and_report() -> None:
            try:
                result = call()
            except OSError as error:
                loop.call_soon_threadsafe(_fail, done, error)
            else:
                loop.call_soon_threadsafe(_succeed, done, result)

        self._calls.put(run_and_report)
        return await done

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            try:
                call()
            except RuntimeError:
                return  # the loop has been closed


def _succeed(done: "asyncio.Future[T]", result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: "asyncio.Future[T]", error: OSError) -> None:
    if not done.done():
        done.set_exception(error)


async def read_lines(descriptor: int = STDIN) -> AsyncIterator[list[bytes]]:
    """Lines as they come, some at a time, without their line ends."""
    calls: BlockingCalls[bytes] = BlockingCalls()
    rest: list[bytes] = []
    while chunk := await calls.run(lambda: os.read(descriptor, _CHUNK_BYTES)):
        first, *others = chunk.split(b"\n")
        rest.append(first)
        if others:
            lines = [b"".join(rest), *others]
            rest = [lines.pop()]
            yield lines
    last = b"".join(rest)
    if last:
        yield [last]


class StdoutWriter:
    """Standard output for large amounts of bytes."""

    def __init__(self, descriptor: int = STDOUT) -> None:
        self._descriptor = descriptor
        self._calls: BlockingCalls[None] = BlockingCalls()

    async def write(self, data: bytes) -> None:
        """Return when all of it is written."""
        await self._calls.run(lambda: self._write(data))

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

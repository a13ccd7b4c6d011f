"""Several workers of one queue at a time, as tasks. `sync/workers.py` has the same for threads."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any


async def run_workers(
    count: int,
    work: Callable[[], Awaitable[None]],
    stop: Callable[[], None],
    stop_timeout_s: float,
) -> None:
    """Run `work` so many times at once, until all have ended, and raise what one has raised.

    If one raises, or this is cancelled, or SIGTERM comes, `stop` is called and the others have
    `stop_timeout_s` to end; then they are cancelled.
    """
    tasks = [asyncio.ensure_future(work()) for _ in range(count)]
    all_done = asyncio.gather(*tasks)
    with _termination() as terminated:
        ends: list[asyncio.Future[Any]] = [all_done, terminated]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop()
            try:
                await asyncio.wait(tasks, timeout=stop_timeout_s)
            finally:
                for task in tasks:
                    task.cancel()
                results = await asyncio.gather(*tasks, all_done, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


@contextmanager
def _termination() -> "Iterator[asyncio.Future[None]]":
    """Done when SIGTERM comes, unless the program handles that itself."""
    loop = asyncio.get_running_loop()
    terminated = loop.create_future()

    def end() -> None:
        if not terminated.done():
            terminated.set_result(None)

    follows = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if follows:
        try:
            loop.add_signal_handler(signal.SIGTERM, end)
        except (RuntimeError, ValueError):  # not in the main thread
            follows = False
    try:
        yield terminated
    finally:
        terminated.cancel()
        if follows:
            loop.remove_signal_handler(signal.SIGTERM)

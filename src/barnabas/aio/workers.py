"""Several workers of one queue at a time, as tasks. `sync/workers.py` has the same for threads."""

import asyncio
from collections.abc import Awaitable, Callable


async def run_workers(
    count: int,
    work: Callable[[], Awaitable[None]],
    stop: Callable[[], None],
    stop_timeout_s: float,
) -> None:
    """Run `work` so many times at once, until all have ended, and raise what one has raised.

    If one raises, or this is cancelled, `stop` is called and the others have `stop_timeout_s` to
    end; then they are cancelled.
    """
    tasks = [asyncio.ensure_future(work()) for _ in range(count)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        stop()
        try:
            await asyncio.wait(tasks, timeout=stop_timeout_s)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result

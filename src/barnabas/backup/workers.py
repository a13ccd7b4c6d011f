"""Work that is done side by side, and what goes on meanwhile."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def run_workers(
    workers: Sequence[Coroutine[Any, Any, None]], upkeep: Coroutine[Any, Any, None]
) -> None:
    """Run all to their ends; the first error ends the others, and nothing goes on afterwards."""
    meanwhile = asyncio.ensure_future(upkeep)
    tasks = [asyncio.ensure_future(each) for each in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for each in (meanwhile, *tasks):
            each.cancel()
        await asyncio.gather(meanwhile, *tasks, return_exceptions=True)


async def results_of(works: Sequence[Coroutine[Any, Any, T]], at_once: int) -> list[T]:
    """The results in order, of so many at a time; the first error ends the others."""
    room = asyncio.Semaphore(at_once)

    async def work(each: Coroutine[Any, Any, T]) -> T:
        async with room:
            return await each

    tasks = [asyncio.ensure_future(work(each)) for each in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in works:
            each.close()  # those that have not begun

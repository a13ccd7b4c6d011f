"""Work that is done side by side, and what goes on meanwhile."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any


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

"""Calls functions of users that take no record: timers and schedules."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from barnabas.app.cancelled import failure_of
from barnabas.app.dependencies import RunSync


async def call(function: Callable[..., Any], *arguments: Any, run_sync: RunSync) -> Any:
    """What it returns. Coroutine functions run in the event loop, plain ones by `run_sync`.

    A function that raises `CancelledError` has failed; only whoever cancels this task ends it.
    """
    try:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        found = await run_sync(function, *arguments)
        # Of a plain decorator around a coroutine function.
        return await found if inspect.isawaitable(found) else found
    except asyncio.CancelledError as error:
        raise failure_of(error) from error

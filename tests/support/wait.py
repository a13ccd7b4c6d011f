"""Waiting for a condition, in blocking tests and in asynchronous ones.

Both return what the condition returned, so that a condition may look something up. Five minutes are
the limit everywhere: a busy machine is no reason to fail. Pauses grow from a millisecond, so that
short waits stay short.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
Complaint = str | Callable[[], str] | None

LIMIT_S = 300.0
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


def wait_until(
    condition: Callable[[], T | None], complaint: Complaint = None, *, timeout_s: float = LIMIT_S
) -> T:
    """Poll until the condition is true; the complaint says what is wrong while it is not.

    A condition may start a process: other processes get as much time as it takes itself.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        began = time.monotonic()
        if found := condition():
            return found
        now = time.monotonic()
        assert now < deadline, _failure(condition, complaint, timeout_s)
        time.sleep(max(pause_s, now - began))
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


async def wait_until_async(
    condition: Callable[[], T | Awaitable[T | None] | None],
    complaint: Complaint = None,
    *,
    timeout_s: float = LIMIT_S,
) -> T:
    """The same without blocking the event loop; the condition may be asynchronous."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        result = condition()
        found = await result if isinstance(result, Awaitable) else result
        if found:
            return found
        assert loop.time() < deadline, _failure(condition, complaint, timeout_s)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _failure(condition: Callable[[], object], complaint: Complaint, timeout_s: float) -> str:
    if complaint is None:
        complaint = f"not true: {_source(condition)}"
    elif not isinstance(complaint, str):
        complaint = complaint()
    return f"{complaint} (waited {timeout_s:g} s)"


def _source(condition: Callable[[], object]) -> str:
    """A lambda as it is written in the test, or a function's name."""
    name = getattr(condition, "__qualname__", repr(condition))
    if not name.endswith("<lambda>"):
        return name
    try:
        return " ".join(inspect.getsource(condition).split())
    except OSError:
        return name

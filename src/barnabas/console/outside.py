"""Calls of services outside of the cluster: each kind in threads of its own, never redirected.

A service that does not answer holds up its own threads only, not those in which records are opened.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from barnabas.web.no_redirects import opener_without_redirects

T = TypeVar("T")


OPENER = opener_without_redirects()


class OutsideCalls:
    """Blocking calls of one service, a few at a time."""

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="outside")

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

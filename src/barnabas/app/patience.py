"""Waiting for a cluster, as long as it takes: what a service does in place of ending.

It is said once, at the first attempt that fails, until an attempt succeeds.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from barnabas.app.clock import Clock
from barnabas.backoff import Backoff
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.errors import BarnabasError

_PAUSES = Backoff(0.5, 10.0)
_log = logging.getLogger("barnabas.app")

T = TypeVar("T")


class Patience:
    """`who` waits, in the log; `stopping` ends pauses."""

    def __init__(self, clock: Clock, who: str, stopping: asyncio.Event) -> None:
        self._clock = clock
        self._who = who
        self._stopping = stopping
        self._failed = 0  # attempts in a row

    def succeeded(self) -> None:
        if self._failed:
            _log.info("%s goes on", self._who)
        self._failed = 0

    async def pause(self, error: BaseException) -> None:
        """Before another attempt. Raises the error if waiting does not mend it, or if it stops."""
        if consequence_of(error) is not Consequence.WAITS or self._stopping.is_set():
            raise error
        self._failed += 1
        if self._failed == 1:
            _log.warning("%s waits, and goes on by itself: %s", self._who, error)
        sleeping = asyncio.ensure_future(self._clock.sleep(_PAUSES.pause(self._failed)))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()

    async def until_done(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt returns in the end."""
        while True:
            try:
                result = await attempt()
            except BarnabasError as error:
                await self.pause(error)
            else:
                self.succeeded()
                return result

"""The smallest client there is: its core tells the time since it was made, or sleeps."""

import asyncio
from threading import Event
from time import monotonic

from barnabas.aio.waiting import Client as AioClient
from barnabas.sync.waiting import Client as SyncClient


class Core:
    """Notes what happened to it in `said`."""

    def __init__(self) -> None:
        self.made = monotonic()
        self.said: list[str] = []
        self.failing: Exception | None = None
        self.closing_s = 0.0
        self.closing = Event()

    async def age_s(self) -> float:
        return monotonic() - self.made

    async def sleep(self, seconds: float) -> str:
        self.said.append("sleeps")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.said.append("cancelled")
            raise
        self.said.append("slept")
        return "slept"

    async def fail(self) -> None:
        raise LookupError("as asked")

    async def close(self) -> None:
        self.closing.set()
        await asyncio.sleep(self.closing_s)
        self.said.append("closed")
        if self.failing is not None:
            raise self.failing


class AioClock(AioClient):
    def __init__(self, core: Core | None = None) -> None:
        self.core = core or Core()
        super().__init__(self.core)

    async def age_s(self) -> float:
        return await self._wait(self.core.age_s())

    async def sleep(self, seconds: float) -> str:
        return await self._wait(self.core.sleep(seconds))

    async def fail(self) -> None:
        await self._wait(self.core.fail())


class Clock(SyncClient):
    def __init__(self, core: Core | None = None) -> None:
        self.core = core or Core()
        super().__init__(self.core)

    def age_s(self) -> float:
        return self._wait(self.core.age_s())

    def sleep(self, seconds: float) -> str:
        return self._wait(self.core.sleep(seconds))

    def fail(self) -> None:
        self._wait(self.core.fail())

"""What may happen to a process: it dies, or stands still, at its n-th request.

All that a process does for others to see are requests. The fixture `world` gives processes, which
are told apart by their client ids, a fate.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Any


class Killed(Exception):
    """Nothing more is heard of this process."""


@dataclass
class Fate:
    """What becomes of a process when it sends its n-th request, or has sent it."""

    requests: int
    sends_it: bool = False
    thaw: Event | None = None
    """It stands still until then; without it, it is dead."""
    frozen: Event = field(default_factory=Event)
    sent: int = 0

    @property
    def has_struck(self) -> bool:
        return self.sent >= self.requests

    async def befalls(self, send: Callable[[], Awaitable[Any]]) -> Any:
        self.sent += 1
        if self.sent < self.requests or (self.sent > self.requests and self.thaw):
            return await send()
        answer = await send() if self.sends_it and self.sent == self.requests else None
        if self.thaw is None:
            raise Killed
        self.frozen.set()
        await asyncio.get_running_loop().run_in_executor(None, self.thaw.wait)
        return answer if self.sends_it else await send()


@dataclass
class World:
    """The processes that are not just fine."""

    fates: dict[str, Fate] = field(default_factory=dict)

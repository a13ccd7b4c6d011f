"""Chunks on their way from the core's thread to the application's, bounded in bytes.

One thread appends, the other takes; what both need to know is counted apart by each of them.
"""

import asyncio
from collections import deque

from barnabas.client.consumer.completed_fetch import CompletedFetch


class FetchBuffer:
    """`append` and `wait_for_room` are for the thread of the loop, the others for any one other."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._fetches: deque[CompletedFetch] = deque()
        self._received = 0  # bytes ever
        self._taken = 0
        self._full = False
        self._room = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __bool__(self) -> bool:
        return bool(self._fetches)

    def append(self, completed: CompletedFetch) -> None:
        self._received += len(completed.data)
        self._fetches.append(completed)

    async def wait_for_room(self) -> None:
        """Wait while there is more than the limit allows."""
        while self._received - self._taken >= self._limit:
            self._loop = asyncio.get_running_loop()
            self._room.clear()
            self._full = True
            if self._received - self._taken >= self._limit:  # else it was taken just now
                await self._room.wait()

    def take(self) -> CompletedFetch | None:
        """The next fetch that is not outdated."""
        while True:
            try:
                completed = self._fetches.popleft()
            except IndexError:
                return None
            self._taken += len(completed.data)
            if self._full and self._received - self._taken < self._limit:
                self._full = False
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._room.set)
            if completed.is_current:
                return completed

    def put_back(self, completed: CompletedFetch) -> None:
        """Let a fetch that was taken come again."""
        self._taken -= len(completed.data)
        self._fetches.appendleft(completed)

"""Tasks without a waiter. A failure of one is kept, and reported by their owner."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class BackgroundTasks:
    """Of one client. `on_crash` is called when a task has ended with an exception."""

    def __init__(self, on_crash: Callable[[], None]) -> None:
        self.crash: BaseException | None = None
        self._on_crash = on_crash
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run it; a task that is done or cancelled is forgotten."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel whatever is left."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.crash = task.exception()
            self._on_crash()

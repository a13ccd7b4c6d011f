"""An event loop whose time passes only when everything waits: no test sleeps."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

LIMIT_S = 300.0


class _Idle(selectors.SelectSelector):
    loop: "VirtualTimeLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "everything waits, and nothing will ever happen"
        self.loop.now += timeout
        assert self.loop.now < LIMIT_S, "nothing comes to an end"
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at 0 seconds."""

    def __init__(self) -> None:
        selector = _Idle()
        selector.loop = self
        self.now = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a test; no task may be left behind."""

    async def checked() -> None:
        await main
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(checked())

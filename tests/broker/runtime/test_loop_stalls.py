"""How long the event loop has stood still, as it finds out by itself."""

import asyncio
import time
from collections.abc import Callable

from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.loop_stalls import NOTICED_MS, LoopStalls


class Loop:
    """Timers that go off when they are told to."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.timer: tuple[int, Callable[[], None]] | None = None

    def steady_ms(self) -> int:
        return self.now_ms

    def call_later(self, seconds: float, call: Callable[[], None]) -> "Loop":
        self.timer = (self.now_ms + round(seconds * 1000), call)
        return self

    def cancel(self) -> None:
        self.timer = None

    def pass_time(self, for_ms: int) -> None:
        """As a loop that is never late, or not any more."""
        end_ms = self.now_ms + for_ms
        while self.timer is not None and self.timer[0] <= end_ms:
            due_ms, call = self.timer
            self.now_ms = max(self.now_ms, due_ms)
            call()
        self.now_ms = end_ms

    def stand_still(self, for_ms: int) -> None:
        self.now_ms += for_ms


def stalls_of(loop: Loop) -> LoopStalls:
    stalls = LoopStalls(loop, loop)  # type: ignore[arg-type]
    stalls.start()
    return stalls


def test_a_loop_that_is_never_late() -> None:
    loop = Loop()
    stalls = stalls_of(loop)
    loop.pass_time(10_000)
    assert stalls.total_ms() == 0


def test_whoever_is_called_first_hears_of_it_and_it_counts_once() -> None:
    loop = Loop()
    stalls = stalls_of(loop)
    loop.pass_time(1_000)
    loop.stand_still(5_000)
    first = stalls.total_ms()
    assert 4_900 <= first <= 5_000
    assert stalls.total_ms() == first
    loop.pass_time(1_000)
    assert stalls.total_ms() == first
    loop.stand_still(3_000)
    loop.pass_time(1_000)
    assert 2_900 <= stalls.total_ms() - first <= 3_000


def test_a_little_late_is_not_late() -> None:
    loop = Loop()
    stalls = stalls_of(loop)
    for _ in range(20):
        loop.pass_time(100)
        loop.stand_still(NOTICED_MS - 1)
    assert stalls.total_ms() == 0


def test_one_that_is_stopped_notes_nothing_more() -> None:
    loop = Loop()
    stalls = stalls_of(loop)
    stalls.stop()
    loop.stand_still(5_000)
    assert stalls.total_ms() == 0


def test_a_real_loop() -> None:
    async def main() -> None:
        stalls = LoopStalls(asyncio.get_running_loop(), Clock())
        stalls.start()
        await asyncio.sleep(0.01)
        time.sleep(0.5)
        assert stalls.total_ms() >= 350
        stalls.stop()

    asyncio.run(main())

"""The cap on what compaction reads and writes, under a clock that only sleeping moves."""

import pytest

from barnabas.log.compaction.throttle import Throttle


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept = 0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds
        self.slept += 1


@pytest.mark.parametrize("portion", [10, 5_000, 300_000])
def test_the_rate_is_kept(portion: int) -> None:
    clock = Clock()
    throttle = Throttle(1_000_000, clock, clock.sleep)
    for _ in range(3_000_000 // portion):
        throttle.spent(portion)
    assert throttle.total_bytes == 3_000_000
    assert 2.7 <= clock.now_s - 100 <= 3.4
    assert clock.slept <= 40, "it does not sleep for every little bit"


def test_time_that_passes_by_itself_counts() -> None:
    clock = Clock()
    throttle = Throttle(1_000_000, clock, clock.sleep)
    for _ in range(100):
        throttle.spent(10_000)
        clock.now_s += 0.02
    assert clock.slept == 0


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    throttle = Throttle(1_000_000, clock, clock.sleep)
    clock.now_s += 3600
    for _ in range(100):
        throttle.spent(10_000)
    assert clock.now_s - 3700 >= 0.8


def test_without_a_limit_no_clock_is_read() -> None:
    def never() -> float:
        raise AssertionError("the clock must not be read")

    throttle = Throttle(0, never)
    throttle.spent(1 << 40)
    assert throttle.total_bytes == 1 << 40

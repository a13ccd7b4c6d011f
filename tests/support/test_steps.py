import pytest

from tests.support.steps import TooManySteps, at_most_steps


def loop(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def expression(times: int) -> int:
    return sum(number for number in range(times))


def test_work_within_the_bound_passes() -> None:
    with at_most_steps(1_000):
        assert loop(100) == expression(101) - 100


def test_work_beyond_it_ends_at_once() -> None:
    for work in (loop, expression):
        with pytest.raises(TooManySteps), at_most_steps(250):
            work(1 << 60)

"""What the batches of one Produce request may decompress to."""

from barnabas.broker.runtime.request_budget import RequestBudget

_MB = 1 << 20


def test_readers_in_several_threads_together_stay_within_it() -> None:
    budget = RequestBudget(100)
    first, second = budget.take(80), budget.take(80)
    assert (first, second) == (80, 20)
    assert budget.take(80) == 0
    budget.settle(first, 10)
    assert budget.take(80) == 70


def test_a_small_request_has_that_of_eight_large_batches() -> None:
    assert RequestBudget.of(_MB, 32 * _MB).left == 256 * _MB


def test_a_large_request_has_sixteen_times_its_size() -> None:
    assert RequestBudget.of(100 * _MB, 32 * _MB).left == 1600 * _MB

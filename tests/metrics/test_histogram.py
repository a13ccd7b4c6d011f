"""Quantiles from buckets, compared with those of the sorted values."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metrics.histogram import TIMES_S, Histogram

_STEP = 1.5


@given(st.lists(st.floats(2e-5, 50), min_size=1, max_size=200), st.floats(0.01, 0.999))
def test_a_quantile_is_within_its_bucket(values: list[float], share: float) -> None:
    histogram = Histogram(TIMES_S)
    for value in values:
        histogram.observe(value)
    rank = share * len(values)
    exact = sorted(values)[max(0, -int(-rank // 1) - 1)]
    assert exact / _STEP <= histogram.recent_quantile(share) <= exact * _STEP
    assert histogram.count == len(values)
    assert abs(histogram.sum - sum(values)) < 1e-6


def test_quantiles_forget_and_counts_do_not() -> None:
    histogram = Histogram((1.0, 10.0))
    histogram.observe(9, times=3)
    histogram.rotate()
    assert histogram.recent_quantile(0.5) > 1
    histogram.rotate()
    assert histogram.recent_quantile(0.5) == 0
    histogram.observe(0.5)
    assert histogram.recent_quantile(0.99) <= 1
    assert histogram.counts == [1, 3, 0]

"""Pauses double, have a longest one, and are spread by the random source that is given."""

from itertools import islice

import pytest

from barnabas.backoff import Backoff

PAUSES = Backoff(0.05, 1.0)


def test_pauses_double_up_to_the_longest() -> None:
    assert list(islice(PAUSES.pauses(), 7)) == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert PAUSES.pause(10_000) == 1.0


@pytest.mark.parametrize(("drawn", "pause"), [(0.0, 0.04), (0.5, 0.05), (1.0, 0.06)])
def test_they_are_spread_by_a_fifth(drawn: float, pause: float) -> None:
    assert PAUSES.pause(1, lambda: drawn) == pytest.approx(pause)


def test_the_pause_after_another() -> None:
    pauses = [0.0]
    while len(pauses) < 8:
        pauses.append(Backoff(20, 500).after(pauses[-1]))
    assert pauses == [0, 20, 40, 80, 160, 320, 500, 500]

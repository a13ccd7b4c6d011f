"""Numbers agree with their nouns and verbs."""

import pytest

from barnabas.errors import BarnabasError, DeliveryFailed
from barnabas.quantities import agreeing, counted, counted_of


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 records"), (1, "1 record"), (2_000, "2,000 records")]
)
def test_a_noun_agrees_with_its_number(number: int, said: str) -> None:
    assert counted(number, "record") == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (1, 1, "1 of 1 record was"),
        (1, 3, "1 of 3 records was"),
        (2, 3_000, "2 of 3,000 records were"),
        (0, 1, "0 of 1 record were"),
    ],
)
def test_a_verb_agrees_with_the_part(part: int, whole: int, said: str) -> None:
    assert f"{counted_of(part, whole, 'record')} {agreeing(part, 'was', 'were')}" == said


def test_a_single_record_that_was_not_delivered() -> None:
    assert str(DeliveryFailed(1, BarnabasError("late"))).startswith("1 record was not delivered")
    assert str(DeliveryFailed(2, BarnabasError("late"))).startswith("2 records were not delivered")

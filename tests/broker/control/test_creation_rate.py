"""How many topics come to be because clients ask for them."""

from barnabas.broker.control.creation_rate import CreationRate


def test_so_many_at_once_and_so_many_a_second() -> None:
    now = 5.0
    rate = CreationRate(lambda: now)
    assert rate.allowed(2, per_request=3, per_second=10) == 2
    assert rate.allowed(9, per_request=3, per_second=10) == 3
    assert [rate.allowed(9, per_request=4, per_second=10) for _ in range(3)] == [4, 1, 0]
    now = 5.25
    assert rate.allowed(9, per_request=9, per_second=10) == 2
    now = 60.0
    assert rate.allowed(99, per_request=99, per_second=10) == 10


def test_who_asks_often_for_nothing_uses_nothing_up() -> None:
    rate = CreationRate(lambda: 5.0)
    for _ in range(100):
        assert rate.allowed(0, per_request=3, per_second=1) == 0
    assert rate.allowed(1, per_request=3, per_second=1) == 1

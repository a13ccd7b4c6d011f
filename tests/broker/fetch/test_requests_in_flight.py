"""A follower that sends a second fetch while its leader holds back the answer to the first."""

from collections.abc import Iterator

import pytest

from tests.broker.fetch.leader import Leader, bounds, fetch_frame

LONG_MS = 60_000


@pytest.fixture
def leader() -> Iterator[Leader]:
    leader = Leader(3)
    for index in range(3):
        leader.write(index)
    yield leader
    leader.loop.close()


def test_the_bounds_of_a_partition_are_in_the_answer_to_the_request_that_names_it(
    leader: Leader,
) -> None:
    session = leader.open({0: 1})
    first = leader.send({}, (session, 1), LONG_MS)
    second = leader.send({1: 1}, (session, 2), LONG_MS)
    assert bounds(leader.received(first)) == {}
    assert bounds(leader.received(second)) == {1: 1}


def test_it_is_so_if_the_wait_of_the_first_has_just_ended(leader: Leader) -> None:
    session = leader.open({0: 1})
    first = leader.send({}, (session, 1), LONG_MS)
    frame = fetch_frame({1: 1}, (session, 2), LONG_MS)
    (second,) = leader.send_together(frame, before=lambda: leader.write(0))
    assert bounds(leader.received(first)) == {}
    assert bounds(leader.received(second)) == {0: 1, 1: 1}


def test_records_for_the_second_do_not_wait_for_the_first(leader: Leader) -> None:
    session = leader.open({0: 1})
    first = leader.send({}, (session, 1), LONG_MS)
    second = leader.send({1: 0}, (session, 2), LONG_MS)
    assert bounds(leader.received(first)) == {}
    assert bounds(leader.received(second)) == {1: 1}


def test_a_partition_that_is_named_again_is_told_of_again(leader: Leader) -> None:
    """The follower ignores an answer that was under way when it began to follow again."""
    session = leader.open({0: 1, 1: 1})
    assert bounds(leader.received(leader.send({1: 1}, (session, 1), LONG_MS))) == {1: 1}
    assert bounds(leader.received(leader.send({}, (session, 2)))) == {}

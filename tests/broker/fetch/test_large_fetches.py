"""Fetches of very many partitions, between whose slices other requests are handled."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.broker.fetch.leader import Leader, bounds, fetch_frame

MANY = 600
CONSUMER = -1
LIMIT = 1 << 20
SIZE = 10_000


@pytest.fixture
def leader() -> Iterator[Leader]:
    leader = Leader(MANY, {"queued.max.response.bytes": str(LIMIT)})
    yield leader
    leader.loop.close()


def test_together_they_stay_within_the_limit_of_unread_answers(leader: Leader) -> None:
    for index in range(MANY):
        leader.write(index, b"x" * SIZE)
    asked = dict.fromkeys(range(MANY), 0)
    frame = fetch_frame(asked, (0, -1), replica_id=CONSUMER, max_bytes=LIMIT)
    responses = [leader.received(answer) for answer in leader.send_together(*[frame] * 20)]
    sizes = [
        sum(len(data.records or b"") for topic in response.responses for data in topic.partitions)
        for response in responses
    ]
    assert 0 < sum(sizes) <= LIMIT * 1.25 + 2 * SIZE
    leader.turn(5)
    assert leader.connections.unread.room() == LIMIT
    (alone,) = leader.received(leader.send(asked, (0, -1), replica_id=CONSUMER)).responses
    assert sum(len(data.records or b"") for data in alone.partitions) > LIMIT / 2


def test_a_fetch_of_a_large_session_with_little_to_read_is_answered_at_once(
    leader: Leader,
) -> None:
    session = leader.open(dict.fromkeys(range(MANY), 0))
    assert bounds(leader.received(leader.send({}, (session, 1)))) == {}
    leader.write(7)
    answer = leader.send({}, (session, 2))
    assert not isinstance(answer, asyncio.Future)
    assert bounds(leader.received(answer)).keys() == {7}
    held = leader.send({7: 1}, (session, 3), 60_000)
    leader.write(8)
    leader.turn()
    assert held.done()
    assert bounds(leader.received(held)).keys() >= {8}


def test_news_of_many_partitions_that_come_during_a_wait_are_read_in_slices(
    leader: Leader,
) -> None:
    session = leader.open(dict.fromkeys(range(MANY), 0))
    held = leader.send({}, (session, 1), 60_000)
    for index in range(MANY):
        leader.write(index)
    leader.turn()
    assert not held.done()
    assert bounds(leader.received(held)).keys() == set(range(MANY))


def test_requests_of_a_session_take_effect_in_their_order(leader: Leader) -> None:
    """A follower sends a second one before the first, of many partitions, is answered."""
    leader.write(0)
    session = leader.open({})
    large = fetch_frame(dict.fromkeys(range(MANY), 0), (session, 1))
    small = fetch_frame({0: 1}, (session, 2))
    first, second = map(leader.received, leader.send_together(large, small))
    assert bounds(first).keys() == set(range(MANY))
    assert bounds(second) == {0: 1}
    (topic,) = second.responses
    assert not topic.partitions[0].records


def test_a_large_fetch_does_not_wait_if_a_newer_one_is_there(leader: Leader) -> None:
    session = leader.open({})
    large = fetch_frame(dict.fromkeys(range(MANY), 0), (session, 1), 60_000)
    small = fetch_frame({}, (session, 2))
    first, second = map(leader.received, leader.send_together(large, small))
    assert bounds(first) == {}
    assert bounds(second).keys() == set(range(MANY))


def test_a_large_fetch_that_is_abandoned_holds_up_no_other(leader: Leader) -> None:
    session = leader.open({})
    large = fetch_frame(dict.fromkeys(range(MANY), 0), (session, 1), 60_000)
    (first,) = leader.send_together(large)
    first.cancel()
    assert bounds(leader.received(leader.send({0: 0}, (session, 2)))).keys() >= {0}


def test_a_partition_that_appears_is_found_before_it_is_named_again(leader: Leader) -> None:
    appears = leader.led.pop(0)
    session = leader.open({0: 0})
    leader.led[0] = appears
    answer = leader.send(dict.fromkeys(range(MANY), 0), (session, 1))
    assert bounds(leader.received(answer)).keys() == set(range(MANY))

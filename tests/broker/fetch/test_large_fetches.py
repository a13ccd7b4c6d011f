"""Fetches of very many partitions, between whose slices other requests are handled."""

from collections.abc import Iterator

import pytest

from tests.broker.fetch.leader import Leader, fetch_frame

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

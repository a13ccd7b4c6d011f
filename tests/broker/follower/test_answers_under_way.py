"""Answers that were under way when a follower's log was cut."""

from barnabas.broker.follower.replica_session import Followed, ReplicaSession
from barnabas.broker.replica.replica_truncation import truncate_to
from tests.broker.follower.test_follower_log import LED_BY_2, replica


def test_an_answer_to_a_request_before_the_cut_is_not_taken_for_one_to_the_next() -> None:
    disk, partition = replica()
    disk.capacity = 1 << 30
    partition.apply(LED_BY_2)
    session = ReplicaSession(1, 1 << 20, 1 << 20)
    before = Followed(partition)
    session.name(before)
    session.next_request(7, 500)
    first = session.requests
    assert before.is_answered_by(first)
    truncate_to(partition, 1, keep=False)
    again = Followed(partition)
    session.name(again)
    request = session.next_request(7, 500)
    assert request.topics[0].partitions[0].fetch_offset == 1
    assert not before.is_answered_by(first)
    assert not again.is_answered_by(first)
    assert again.is_answered_by(session.requests)

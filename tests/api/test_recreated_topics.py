"""A topic that is deleted and created again under a consumer is another one. Both faces."""

import time
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import TopicPartition
from barnabas.errors import DataLost
from tests.api.conftest import Fill, fill
from tests.api.faces import Face


def make_anew(servers: str, topic: str, numbers: range) -> None:
    with barnabas.Admin(servers) as admin:
        admin.delete_topic(topic)
        admin.create_topic(topic)
    fill(servers, topic, numbers)


def read(consumer: Any, count: int) -> list[int]:
    found: list[int] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        found += [int(message.value) for message in consumer.poll(1)]
    return found


def test_it_is_data_lost_and_nothing_old_is_committed(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic, group = topic_with(3), uuid4().hex
    partition = TopicPartition(topic, 0)
    with face.consumer(servers, topic, group=group, commit_interval_ms=50) as consumer:
        assert read(consumer, 3) == [0, 1, 2]
        make_anew(servers, topic, range(100, 103))
        for _ in range(2):
            with pytest.raises(DataLost, match=f"{topic}-0.*created again.*on_data_loss"):
                consumer.poll(60)
        with barnabas.Admin(servers) as admin:
            assert admin.group_offsets(group) == {}
        consumer.seek(partition, 1)
        assert read(consumer, 2) == [101, 102]
    with barnabas.Admin(servers) as admin:
        assert admin.group_offsets(group) == {partition: 3}


def test_nothing_old_is_committed_on_leaving(face: Face, servers: str, topic_with: Fill) -> None:
    topic, group = topic_with(3), uuid4().hex
    with face.consumer(servers, topic, group=group) as consumer:
        assert read(consumer, 3) == [0, 1, 2]
        make_anew(servers, topic, range(100, 103))
    with face.consumer(servers, topic, group=group) as consumer:
        assert read(consumer, 3) == [100, 101, 102]


@pytest.mark.parametrize("old", [3, 1])
def test_on_data_loss_goes_on_in_the_new_one(
    face: Face, servers: str, topic_with: Fill, old: int
) -> None:
    topic = topic_with(old)
    with face.consumer(servers, topic, on_data_loss="earliest") as consumer:
        assert len(read(consumer, old)) == old
        make_anew(servers, topic, range(100, 106))
        assert read(consumer, 6) == [100, 101, 102, 103, 104, 105]


def test_who_is_assigned_again_reads_the_new_one(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(3)
    with face.consumer(servers) as consumer:
        consumer.assign({TopicPartition(topic, 0): 0})
        assert read(consumer, 3) == [0, 1, 2]
        make_anew(servers, topic, range(100, 103))
        consumer.assign({TopicPartition(topic, 0): 1})
        assert read(consumer, 2) == [101, 102]


def test_a_position_beyond_the_end_says_what_the_log_holds(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(3)
    with face.consumer(servers) as consumer:
        consumer.assign({TopicPartition(topic, 0): 99})
        with pytest.raises(DataLost, match="no offset 99: its log begins at 0 and ends before 3;"):
            consumer.poll(60)


def test_what_is_paused_is_not_committed_for_the_new_one(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic, group = topic_with(3), uuid4().hex
    with face.consumer(servers, topic, group=group) as consumer:
        assert read(consumer, 3) == [0, 1, 2]
        consumer.pause()
        make_anew(servers, topic, range(100, 103))
    with barnabas.Admin(servers) as admin:
        assert admin.group_offsets(group) == {}


def test_leaving_when_one_topic_is_gone_commits_the_other(
    face: Face, servers: str, topic_with: Fill
) -> None:
    gone, kept, group = topic_with(3), topic_with(3), uuid4().hex
    with face.consumer(servers, [gone, kept], group=group) as consumer:
        assert len(read(consumer, 6)) == 6
        with barnabas.Admin(servers) as admin:
            admin.delete_topic(gone)
    with barnabas.Admin(servers) as admin:
        assert admin.group_offsets(group) == {TopicPartition(kept, 0): 3}

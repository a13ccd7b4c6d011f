"""Records go to the partitions where Java's clients, and others, send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as foreign_murmur2

from barnabas.client.metadata import NO_LEADER, Partition, Topic, TopicPartition
from barnabas.client.partitioner import StickyPartitioner, murmur2, partition_for_key


def topic(*leaders: int) -> Topic:
    partitions = [Partition(index, leader, 0, [], [], []) for index, leader in enumerate(leaders)]
    return Topic("t", 0, False, partitions)


@pytest.mark.parametrize(
    ("key", "java"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_what_java_gives(key: bytes, java: int) -> None:
    assert murmur2(key) == java & 0xFFFFFFFF


@given(st.binary(max_size=70))
def test_murmur2_agrees_with_another_client(key: bytes) -> None:
    assert murmur2(key) == foreign_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=20), st.integers(1, 1000))
def test_the_partition_of_a_key_is_one_of_them(key: bytes, count: int) -> None:
    assert 0 <= partition_for_key(key, count) < count


def test_records_without_a_key_stay_until_told_to_go_on() -> None:
    sticky = StickyPartitioner()
    three = topic(1, 1, 1)
    assert [sticky.partition(three) for _ in range(3)] == [0, 0, 0]
    assert [sticky.advance(three) for _ in range(4)] == [1, 2, 0, 1]


def test_a_sent_batch_moves_only_who_was_there() -> None:
    sticky = StickyPartitioner()
    three = topic(1, 1, 1)
    sticky.partition(three)
    sticky.leave(TopicPartition("t", 2))
    assert sticky.partition(three) == 0
    sticky.leave(TopicPartition("t", 0))
    assert sticky.partition(three) == 1


def test_partitions_without_a_leader_are_passed_over_unless_all_are() -> None:
    sticky = StickyPartitioner()
    assert sticky.partition(topic(NO_LEADER, 1)) == 1
    assert StickyPartitioner().partition(topic(NO_LEADER, NO_LEADER)) == 0

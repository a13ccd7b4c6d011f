"""Records without a key stay with a partition for a while, and go on."""

from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from barnabas.client.producer.partitioner import StickyPartitioner


def topic(*leaders: int) -> TopicMetadata:
    partitions = [
        PartitionMetadata(index, leader, 0, [], [], []) for index, leader in enumerate(leaders)
    ]
    return TopicMetadata("t", 0, False, partitions)


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

"""Syncs, and positions."""

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.positions import SourcePosition, position_of
from barnabas.mirror.syncs import OffsetSync, merged

HERE, THERE = TopicPartition("orders", 0), TopicPartition("A.orders", 0)


def sync(upstream: int, downstream: int, records: int) -> OffsetSync:
    return OffsetSync(HERE, THERE, upstream, downstream, records)


def test_neighbours_are_merged() -> None:
    assert merged([sync(0, 10, 5), sync(5, 15, 2), sync(7, 18, 1)]) == [
        sync(0, 10, 7),
        sync(7, 18, 1),
    ]


def test_a_position_says_of_which_topic_it_is() -> None:
    position = SourcePosition(17, bytes(range(16)), "the-cluster")
    assert position_of(17, position.text) == position


def test_a_text_of_somebody_else_says_nothing() -> None:
    for text in ("", "by hand", "abcd x"):
        assert position_of(3, text) == SourcePosition(3)

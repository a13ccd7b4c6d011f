"""Every partition goes to exactly one of its subscribers, as evenly as can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.assignors import ASSIGNORS, assign_range, assign_round_robin

TOPICS = ("a", "b", "c")
subscriptions = st.dictionaries(
    st.text("mnop", min_size=1, max_size=3),
    st.sets(st.sampled_from(TOPICS)).map(sorted),
    min_size=1,
)
counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 9))


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(subscriptions=subscriptions, counts=counts)
def test_each_wanted_partition_has_one_reader_who_wants_it(
    name: str, subscriptions: dict[str, list[str]], counts: dict[str, int]
) -> None:
    assignment = ASSIGNORS[name](subscriptions, counts)
    assert assignment.keys() == subscriptions.keys()
    for member, partitions in assignment.items():
        assert all(partition.topic in subscriptions[member] for partition in partitions)
    given_out = sorted(each for partitions in assignment.values() for each in partitions)
    wanted = {topic for topics in subscriptions.values() for topic in topics}
    assert given_out == sorted(
        TopicPartition(topic, index)
        for topic, count in counts.items()
        if topic in wanted
        for index in range(count)
    )


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(members=st.sets(st.text("mnop", min_size=1), min_size=1), count=st.integers(0, 20))
def test_members_that_want_the_same_get_the_same_give_or_take_one(
    name: str, members: set[str], count: int
) -> None:
    assignment = ASSIGNORS[name]({member: ["a"] for member in members}, {"a": count})
    shares = [len(partitions) for partitions in assignment.values()]
    assert max(shares) - min(shares) <= 1


def test_range_gives_one_member_the_same_partitions_of_all_topics() -> None:
    assignment = assign_range({"x": ["a", "b"], "y": ["a", "b"]}, {"a": 3, "b": 3})
    assert assignment["x"] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert assignment["y"] == [("a", 2), ("b", 2)]


def test_round_robin_goes_on_from_topic_to_topic() -> None:
    assignment = assign_round_robin({"x": ["a", "b"], "y": ["a", "b"]}, {"a": 3, "b": 3})
    assert assignment["x"] == [("a", 0), ("a", 2), ("b", 1)]
    assert assignment["y"] == [("a", 1), ("b", 0), ("b", 2)]

"""Who gets which partitions: what the leader of a group decides.

Both give every partition of a subscribed topic to exactly one of its subscribers, and every
member computes the same answer.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

from barnabas.client.connect.cluster_metadata import TopicPartition

Subscriptions = Mapping[str, Sequence[str]]
"""Topics by member id."""

PartitionCounts = Mapping[str, int]
"""Partitions by topic; a topic that does not exist is left out."""

Assignment = dict[str, list[TopicPartition]]
"""Partitions by member id; every member is in it."""

Assignor = Callable[[Subscriptions, PartitionCounts], Assignment]


def assign_range(subscriptions: Subscriptions, partition_counts: PartitionCounts) -> Assignment:
    """Cut each topic into runs, one for each subscriber; the first ones get the longer runs.

    Topics with equal partition counts are cut at the same places, so one member gets the same
    partitions of all: what joining them needs.
    """
    assignment: Assignment = {member: [] for member in sorted(subscriptions)}
    for topic in sorted(partition_counts):
        members = [member for member in assignment if topic in subscriptions[member]]
        if not members:
            continue
        share, remainder = divmod(partition_counts[topic], len(members))
        start = 0
        for index, member in enumerate(members):
            end = start + share + (index < remainder)
            assignment[member] += (TopicPartition(topic, each) for each in range(start, end))
            start = end
    return assignment


def assign_round_robin(
    subscriptions: Subscriptions, partition_counts: PartitionCounts
) -> Assignment:
    """Deal all partitions of all topics out in turn, passing over who did not subscribe."""
    assignment: Assignment = {member: [] for member in sorted(subscriptions)}
    subscribed = {topic for topics in subscriptions.values() for topic in topics}
    turns = cycle(assignment)
    for topic in sorted(subscribed & partition_counts.keys()):
        for partition in range(partition_counts[topic]):
            member = next(each for each in turns if topic in subscriptions[each])
            assignment[member].append(TopicPartition(topic, partition))
    return assignment


ASSIGNORS: dict[str, Assignor] = {"range": assign_range, "roundrobin": assign_round_robin}
"""By the names that all clients use for them, so that groups of different clients agree."""

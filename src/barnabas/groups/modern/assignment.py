"""Assignments: which partitions a member shall have, and which it has.

The *target* assignment is what the assignor gives a member. The *current* assignment is what the
member has on its way there: a partition that another member still owns is not assigned to it yet,
and one that it has to give up is listed until it no longer owns it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

Partitions = Mapping[bytes, frozenset[int]]
"""Partition indexes by topic id; a topic without partitions is left out."""

PartitionEpochs = Mapping[bytes, Mapping[int, int]]
"""Partition indexes by topic id, each with the epoch in which it was assigned."""

NO_PARTITIONS: Partitions = {}


class MemberState(IntEnum):
    """Where a member is on its way to the target assignment; the numbers are in the log."""

    STABLE = 0
    """It has its target assignment, or does not know yet that there is a newer one."""

    UNREVOKED_PARTITIONS = 1
    """It stays in its epoch until it no longer owns the partitions that it has to give up."""

    UNRELEASED_PARTITIONS = 2
    """It is in the new epoch, and waits for partitions that other members still own."""


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The current assignment of one member, and its epoch."""

    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: PartitionEpochs = field(default_factory=dict)
    revoking: PartitionEpochs = field(default_factory=dict)
    """Partitions that the member has to give up and may still own."""

    def epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch in which a partition was assigned that the member may own; None for others."""
        for partitions in (self.assigned, self.revoking):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


NO_ASSIGNMENT = CurrentAssignment()
"""That of a member which has just joined."""


class _TopicPartitions(Protocol):
    topic_id: bytes
    partitions: list[int]


def partitions_of(topics: Iterable[_TopicPartitions]) -> Partitions:
    """From the lists of a message."""
    found: dict[bytes, frozenset[int]] = {}
    for topic in topics:
        if topic.partitions:
            before = found.get(topic.topic_id)
            now = frozenset(topic.partitions)
            found[topic.topic_id] = now if before is None else before | now
    return found


def count_of(partitions: Mapping[bytes, Collection[int]]) -> int:
    """The number of partitions of all topics."""
    return sum(map(len, partitions.values()))

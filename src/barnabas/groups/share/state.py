"""What the log says about one share group.

Besides members and assignments it says which share partitions have a state at a share coordinator:
only those are assigned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from barnabas.groups.group_type import GroupType
from barnabas.groups.memory import PER_SHARE_STATE_BYTES
from barnabas.groups.modern.assignment import CurrentAssignment, MemberState, partitions_of
from barnabas.groups.modern.state import ModernState
from barnabas.groups.share.member import ShareMember
from barnabas.wire.message import Message
from barnabas.wire.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicInfo,
    TopicPartitions,
    TopicPartitionsInfo,
)


class NamedPartitions(NamedTuple):
    """Partitions of a topic, with the name that it had."""

    name: str
    indexes: frozenset[int]


TopicStates = Mapping[bytes, NamedPartitions]


@dataclass(frozen=True, slots=True)
class StatePartitions:
    """Which share partitions have a state, by topic id."""

    initializing: TopicStates = field(default_factory=dict)
    initialized: TopicStates = field(default_factory=dict)
    deleting: Mapping[bytes, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.initializing or self.initialized or self.deleting)

    @property
    def count(self) -> int:
        """How many share partitions these are."""
        return sum(
            len(partitions.indexes)
            for topics in (self.initializing, self.initialized)
            for partitions in topics.values()
        )

    def indexes(self, topic_id: bytes) -> frozenset[int]:
        """The partitions of a topic that can be assigned."""
        found = self.initialized.get(topic_id)
        return frozenset() if found is None else found.indexes

    def to_record(self) -> ShareGroupStatePartitionMetadataValue:
        return ShareGroupStatePartitionMetadataValue(
            _infos(self.initializing),
            _infos(self.initialized),
            [TopicInfo(*each) for each in sorted(self.deleting.items())],
        )

    @classmethod
    def from_record(cls, value: ShareGroupStatePartitionMetadataValue) -> Self:
        return cls(
            _topics(value.initializing_topics),
            _topics(value.initialized_topics),
            {each.topic_id: each.topic_name for each in value.deleting_topics},
        )


def _infos(topics: TopicStates) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id, name, sorted(indexes))
        for topic_id, (name, indexes) in sorted(topics.items())
    ]


def _topics(infos: list[TopicPartitionsInfo]) -> TopicStates:
    return {
        each.topic_id: NamedPartitions(each.topic_name, frozenset(each.partitions))
        for each in infos
        if each.partitions
    }


_NO_STATES = StatePartitions()


class ShareGroupImage(ModernState[ShareMember]):
    __slots__ = ("states",)

    group_type = GroupType.SHARE

    def __init__(self) -> None:
        super().__init__()
        self.states = _NO_STATES

    def __bool__(self) -> bool:
        return super().__bool__() or bool(self.states)

    def _persistent(self) -> tuple[object, ...]:
        return (*super()._persistent(), self.states)

    def copy(self) -> Self:
        other = super().copy()
        other.states = self.states
        return other

    def replay(self, key: Message, value: Message | None) -> None:
        match key, value:
            case ShareGroupMetadataKey(), ShareGroupMetadataValue():
                self._put_epoch(value.epoch, value.metadata_hash)
            case ShareGroupMetadataKey(), None:
                self._put_epoch(0, 0)
            case (
                ShareGroupTargetAssignmentMetadataKey(),
                ShareGroupTargetAssignmentMetadataValue(),
            ):
                self._put_assignment_epoch(value.assignment_epoch, value.assignment_timestamp)
            case ShareGroupTargetAssignmentMetadataKey(), None:
                self._put_assignment_epoch(0, 0)
            case ShareGroupMemberMetadataKey(), ShareGroupMemberMetadataValue():
                self._put_member(key.member_id, ShareMember.from_record(value))
            case ShareGroupMemberMetadataKey(), None:
                self._put_member(key.member_id, None)
            case ShareGroupTargetAssignmentMemberKey(), ShareGroupTargetAssignmentMemberValue():
                self._put_target(key.member_id, partitions_of(value.topic_partitions))
            case ShareGroupTargetAssignmentMemberKey(), None:
                self._put_target(key.member_id, None)
            case (
                ShareGroupCurrentMemberAssignmentKey(),
                ShareGroupCurrentMemberAssignmentValue(),
            ):
                self._put_current(key.member_id, _current(value))
            case ShareGroupCurrentMemberAssignmentKey(), None:
                self._put_current(key.member_id, None)
            case ShareGroupStatePartitionMetadataKey(), ShareGroupStatePartitionMetadataValue():
                self._put_states(StatePartitions.from_record(value))
            case ShareGroupStatePartitionMetadataKey(), None:
                self._put_states(_NO_STATES)
            case _:
                raise AssertionError(f"{type(key).__name__} is no record of a share group")

    def _put_states(self, states: StatePartitions) -> None:
        self.size_bytes += PER_SHARE_STATE_BYTES * (states.count - self.states.count)
        self.states = states


def _current(value: ShareGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState.STABLE,
        {
            each.topic_id: dict.fromkeys(each.partitions, value.member_epoch)
            for each in value.assigned_partitions
            if each.partitions
        },
    )


def current_to_record(current: CurrentAssignment) -> ShareGroupCurrentMemberAssignmentValue:
    return ShareGroupCurrentMemberAssignmentValue(
        current.member_epoch,
        current.previous_member_epoch,
        current.state,
        [
            TopicPartitions(topic_id, sorted(epochs))
            for topic_id, epochs in sorted(current.assigned.items())
        ],
    )

"""What the log says about one consumer group, and what follows from it."""

from collections import Counter
from dataclasses import dataclass
from typing import Self

from barnabas.groups.consumer.member import ConsumerMember
from barnabas.groups.group_type import GroupType
from barnabas.groups.modern.assignment import (
    CurrentAssignment,
    MemberState,
    PartitionEpochs,
    partitions_of,
)
from barnabas.groups.modern.state import ModernState
from barnabas.wire.message import Message
from barnabas.wire.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentTopicPartitions,
)

_NO_TOPICS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression matched."""

    topics: frozenset[str]
    version: int
    """Of the topics among which it was looked for."""
    time_ms: int


class ConsumerState(ModernState[ConsumerMember]):
    __slots__ = ("owners", "regex_subscribers", "regexes", "static_members")

    group_type = GroupType.CONSUMER

    def __init__(self) -> None:
        super().__init__()
        self.regexes: dict[str, ResolvedRegex] = {}
        self.static_members: dict[str, str] = {}
        """Member id by instance id."""
        self.owners: dict[bytes, dict[int, str]] = {}
        """The member that may own a partition, by topic id and partition index."""
        self.regex_subscribers: Counter[str] = Counter()
        """How many members are subscribed by a regular expression."""

    def __bool__(self) -> bool:
        return super().__bool__() or bool(self.regexes)

    def _persistent(self) -> tuple[object, ...]:
        return (*super()._persistent(), self.regexes)

    def copy(self) -> Self:
        other = super().copy()
        other.regexes = dict(self.regexes)
        other.static_members = dict(self.static_members)
        other.owners = {topic_id: dict(owners) for topic_id, owners in self.owners.items()}
        other.regex_subscribers = Counter(self.regex_subscribers)
        return other

    # -- replay ------------------------------------------------------------------------------------

    def replay(self, key: Message, value: Message | None) -> None:
        match key, value:
            case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue():
                self._put_epoch(value.epoch, value.metadata_hash)
            case ConsumerGroupMetadataKey(), None:
                self._put_epoch(0, 0)
            case (
                ConsumerGroupTargetAssignmentMetadataKey(),
                ConsumerGroupTargetAssignmentMetadataValue(),
            ):
                self._put_assignment_epoch(value.assignment_epoch, value.assignment_timestamp)
            case ConsumerGroupTargetAssignmentMetadataKey(), None:
                self._put_assignment_epoch(0, 0)
            case ConsumerGroupMemberMetadataKey(), ConsumerGroupMemberMetadataValue():
                self._put_member(key.member_id, ConsumerMember.from_record(value))
            case ConsumerGroupMemberMetadataKey(), None:
                self._put_member(key.member_id, None)
            case (
                ConsumerGroupTargetAssignmentMemberKey(),
                ConsumerGroupTargetAssignmentMemberValue(),
            ):
                self._put_target(key.member_id, partitions_of(value.topic_partitions))
            case ConsumerGroupTargetAssignmentMemberKey(), None:
                self._put_target(key.member_id, None)
            case (
                ConsumerGroupCurrentMemberAssignmentKey(),
                ConsumerGroupCurrentMemberAssignmentValue(),
            ):
                self._put_current(key.member_id, current_from_record(value))
            case ConsumerGroupCurrentMemberAssignmentKey(), None:
                self._put_current(key.member_id, None)
            case ConsumerGroupRegularExpressionKey(), ConsumerGroupRegularExpressionValue():
                self.regexes[key.regular_expression] = ResolvedRegex(
                    frozenset(value.topics), value.version, value.timestamp
                )
            case ConsumerGroupRegularExpressionKey(), None:
                self.regexes.pop(key.regular_expression, None)
            case _:
                raise AssertionError(f"{type(key).__name__} is no record of a consumer group")

    def _put_member(self, member_id: str, member: ConsumerMember | None) -> None:
        before = self.members.get(member_id)
        super()._put_member(member_id, member)
        if before is not None:
            if before.subscribed_topic_regex:
                self.regex_subscribers[before.subscribed_topic_regex] -= 1
                if not self.regex_subscribers[before.subscribed_topic_regex]:
                    del self.regex_subscribers[before.subscribed_topic_regex]
            if self.static_members.get(before.instance_id or "") == member_id:
                del self.static_members[before.instance_id or ""]
        if member is not None:
            if member.subscribed_topic_regex:
                self.regex_subscribers[member.subscribed_topic_regex] += 1
            if member.instance_id is not None:
                self.static_members[member.instance_id] = member_id

    def _put_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        before = self.current_of(member_id)
        for partitions in (before.assigned, before.revoking):
            for topic_id, indexes in partitions.items():
                owners = self.owners.get(topic_id, {})
                for index in indexes:
                    if owners.get(index) == member_id:
                        del owners[index]
                if not owners:
                    self.owners.pop(topic_id, None)
        super()._put_current(member_id, current)
        if current is not None:
            for partitions in (current.assigned, current.revoking):
                for topic_id, indexes in partitions.items():
                    owners = self.owners.setdefault(topic_id, {})
                    for index in indexes:
                        owners[index] = member_id

    # -- questions ---------------------------------------------------------------------------------

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        """The member that may own the partition: nobody else may have it."""
        return self.owners.get(topic_id, {}).get(partition)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        resolved = self.regexes.get(member.subscribed_topic_regex or "")
        if resolved is None:
            return member.subscribed_topic_names
        if not member.subscribed_topic_names:
            return resolved.topics
        return member.subscribed_topic_names | resolved.topics

    def subscribed_topics(self) -> Counter[str]:
        if not self.regexes:
            return self.subscribers
        topics = Counter(self.subscribers)
        for regex, count in self.regex_subscribers.items():
            resolved = self.regexes.get(regex)
            for name in _NO_TOPICS if resolved is None else resolved.topics:
                topics[name] += count
        return topics


def current_to_record(current: CurrentAssignment) -> ConsumerGroupCurrentMemberAssignmentValue:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=current.state,
        assigned_partitions=_topics(current.assigned),
        partitions_pending_revocation=_topics(current.revoking),
    )


def current_from_record(record: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    return CurrentAssignment(
        record.member_epoch,
        record.previous_member_epoch,
        MemberState(record.state),
        _epochs(record.assigned_partitions, record.member_epoch),
        _epochs(record.partitions_pending_revocation, record.member_epoch),
    )


def _topics(partitions: PartitionEpochs) -> list[CurrentTopicPartitions]:
    return [
        CurrentTopicPartitions(
            topic_id, sorted(epochs), [epoch for _, epoch in sorted(epochs.items())]
        )
        for topic_id, epochs in sorted(partitions.items())
    ]


def _epochs(topics: list[CurrentTopicPartitions], member_epoch: int) -> dict[bytes, dict[int, int]]:
    """Records of older brokers have no epochs of partitions; then it is the member's."""
    return {
        topic.topic_id: dict(
            zip(
                topic.partitions,
                topic.assignment_epochs or [member_epoch] * len(topic.partitions),
                strict=False,
            )
        )
        for topic in topics
    }

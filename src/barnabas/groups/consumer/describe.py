"""ConsumerGroupDescribe: a consumer group as it is persisted."""

from collections.abc import Iterable, Mapping

from barnabas.groups.consumer.group import ConsumerGroup, state_of
from barnabas.groups.consumer.member import ConsumerMember
from barnabas.groups.consumer.state import ConsumerState
from barnabas.groups.group import Group
from barnabas.groups.modern.assignment import NO_PARTITIONS
from barnabas.groups.modern.topics import Topics
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def describe(group_id: str, group: Group | None, topics: Topics) -> DescribedGroup:
    if group is None or group.is_deleted:
        return _not_found(group_id, f"Group {group_id} not found.")
    state = group.image.modern
    if not isinstance(group, ConsumerGroup) or not isinstance(state, ConsumerState):
        return _not_found(group_id, f"Group {group_id} is not a consumer group.")
    return DescribedGroup(
        group_id=group_id,
        group_state=state_of(state),
        group_epoch=state.epoch,
        assignment_epoch=state.assignment_epoch,
        assignor_name=group.assignor_name(),
        members=[
            _member(state, member_id, member, topics) for member_id, member in state.members.items()
        ],
    )


def _not_found(group_id: str, message: str) -> DescribedGroup:
    return DescribedGroup(
        group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message
    )


def _member(state: ConsumerState, member_id: str, member: ConsumerMember, topics: Topics) -> Member:
    current = state.current_of(member_id)
    owned = {topic_id: set(epochs) for topic_id, epochs in current.assigned.items()}
    for topic_id, epochs in current.revoking.items():
        owned.setdefault(topic_id, set()).update(epochs)
    return Member(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=current.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(owned, topics),
        target_assignment=_assignment(state.targets.get(member_id, NO_PARTITIONS), topics),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(partitions: Mapping[bytes, Iterable[int]], topics: Topics) -> Assignment:
    """Topics that were deleted have no name, so they are left out."""
    named = [
        TopicPartitions(topic_id, topic.name, sorted(indexes))
        for topic_id, indexes in partitions.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    return Assignment(sorted(named, key=lambda topic: topic.topic_name))

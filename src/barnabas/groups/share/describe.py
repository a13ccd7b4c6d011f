"""ShareGroupDescribe: what is persisted of a share group."""

from barnabas.groups.group import Group
from barnabas.groups.modern.topics import Topics
from barnabas.groups.share.group import ShareGroup
from barnabas.groups.share.member import ShareMember
from barnabas.groups.share.state import ShareGroupImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)


def describe(group_id: str, group: Group | None, topics: Topics) -> DescribedGroup:
    if group is None or group.is_deleted:
        return _not_found(group_id, f"Group {group_id} not found.")
    state = group.image.modern
    if not isinstance(group, ShareGroup) or not isinstance(state, ShareGroupImage):
        return _not_found(group_id, f"Group {group_id} is not a share group.")
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=state.epoch,
        assignment_epoch=state.assignment_epoch,
        assignor_name=group.assignor_name(),
        members=[
            _member(state, member_id, member, topics) for member_id, member in state.members.items()
        ],
    )


def _not_found(group_id: str, message: str) -> DescribedGroup:
    return DescribedGroup(
        group_id=group_id,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=message,
        group_state="Dead",
    )


def _member(state: ShareGroupImage, member_id: str, member: ShareMember, topics: Topics) -> Member:
    current = state.current_of(member_id)
    named = [
        TopicPartitions(topic_id, topic.name, sorted(epochs))
        for topic_id, epochs in current.assigned.items()
        if (topic := topics.by_id(topic_id)) is not None
    ]
    return Member(
        member_id=member_id,
        rack_id=member.rack_id,
        member_epoch=current.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        assignment=Assignment(sorted(named, key=lambda topic: topic.topic_name)),
    )

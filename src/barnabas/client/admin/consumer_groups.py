"""Groups of the consumer protocol (KIP-848), described."""

from barnabas.client.admin.group_members import GroupMembers, GroupType, MemberDescription
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    Member,
)

_CONSUMER = "consumer"
_CLASSIC_MEMBER = 0


async def describe_consumer_group(connection: BrokerConnection, group_id: str) -> GroupMembers:
    """Raises `UnknownGroup` if there is none of this type."""
    response = await connection.send(ConsumerGroupDescribeRequest(group_ids=[group_id]))
    (group,) = response.groups
    check(group.error_code, f"group {group_id}", group.error_message, needs="describe")
    return GroupMembers(
        group_id,
        group.group_state,
        _CONSUMER,
        group.assignor_name,
        sorted(map(_member_of, group.members)),
        GroupType.CONSUMER,
        group.group_epoch,
        group.assignment_epoch,
    )


def _member_of(member: Member) -> MemberDescription:
    is_classic = member.member_type == _CLASSIC_MEMBER
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _partitions_of(member.assignment),
        member.member_epoch,
        _partitions_of(member.target_assignment),
        sorted(member.subscribed_topic_names),
        member.subscribed_topic_regex or None,
        member.rack_id or None,
        GroupType.CLASSIC if is_classic else GroupType.CONSUMER,
    )


def _partitions_of(assignment: Assignment) -> list[TopicPartition]:
    return sorted(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )

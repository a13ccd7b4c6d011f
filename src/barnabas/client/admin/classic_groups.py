"""Groups of the classic protocol, described."""

from barnabas.client.admin.group_members import GroupMembers, GroupType, MemberDescription
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.group.consumer_protocol import decode_assignment, decode_subscription
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest

_CONSUMER = "consumer"
_DEAD = "Dead"  # what brokers used to say of a group that they do not know


async def describe_classic_group(connection: BrokerConnection, group_id: str) -> GroupMembers:
    """Raises `UnknownGroup` if there is none of this type."""
    response = await connection.send(DescribeGroupsRequest(groups=[group_id]))
    (group,) = response.groups
    check(group.error_code, f"group {group_id}", group.error_message, needs="describe")
    if group.group_state == _DEAD:
        raise broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}")
    is_consumer = group.protocol_type in (_CONSUMER, "")
    return GroupMembers(
        group_id,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        sorted(_member_of(member, is_consumer) for member in group.members),
        GroupType.CLASSIC,
    )


def _member_of(member: DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    # Brokers leave both empty while the group is not stable.
    knows_topics = is_consumer and member.member_metadata
    return MemberDescription(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        sorted(decode_assignment(member.member_assignment)) if is_consumer else [],
        topics=sorted(decode_subscription(member.member_metadata)) if knows_topics else None,
    )

"""DescribeGroups: classic groups; those of newer protocols are described otherwise."""

from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.state import GroupState
from barnabas.groups.group import Group
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember

_NOT_FOUND_IS_AN_ERROR_FROM = 6


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """Metadata and assignments of members are included only if the group is stable."""
    if not isinstance(group, ClassicGroup) or group.state is GroupState.DEAD:
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
        if api_version >= _NOT_FOUND_IS_AN_ERROR_FROM:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            known = "not found" if group is None or group.is_deleted else "is not a classic group"
            described.error_message = f"Group {group_id} {known}."
        return described
    protocol_name = group.protocol_name if group.state is GroupState.STABLE else None
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
    )
    for member in group.members.values():
        one = DescribedGroupMember(
            member.member_id, member.group_instance_id, member.client_id, member.client_host
        )
        if protocol_name is not None:
            one.member_metadata = member.protocols[protocol_name]
            one.member_assignment = member.assignment
        described.members.append(one)
    return described

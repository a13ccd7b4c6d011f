"""ListGroups and DescribeGroups."""

from collections.abc import Iterable, Sequence

from barnabas.groups.group import Group
from barnabas.groups.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from barnabas.wire.messages.list_groups import ListedGroup

GROUP_TYPE = "Classic"

_NOT_FOUND_IS_AN_ERROR_FROM = 6


def list_groups(
    groups: Iterable[Group], states_filter: Sequence[str], types_filter: Sequence[str]
) -> list[ListedGroup]:
    """An empty filter matches everything; filters ignore case."""
    states = {state.lower() for state in states_filter}
    types = {group_type.lower() for group_type in types_filter}
    if types and GROUP_TYPE.lower() not in types:
        return []
    return [
        ListedGroup(group.group_id, group.protocol_type or "", group.state, GROUP_TYPE)
        for group in groups
        if not states or group.state.lower() in states
    ]


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """Metadata and assignments of members are included only if the group is stable."""
    if group is None or group.state is GroupState.DEAD:
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
        if api_version >= _NOT_FOUND_IS_AN_ERROR_FROM:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group_id} not found."
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

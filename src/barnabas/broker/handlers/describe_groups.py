"""DescribeGroups, versions 0-6. A group that is asked for twice is described once."""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.groups.classic.state import GroupState
from barnabas.wire.acl_codes import ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator


def handle(
    node: Needs, request: DescribeGroupsRequest, context: RequestContext
) -> Slices[DescribeGroupsResponse]:
    access = node.authorization.of(context.connection, "DescribeGroups")

    def describe(group_id: str) -> DescribedGroup:
        described = _describe(node, group_id, context.version)
        is_missing = described.error_code or described.group_state == GroupState.DEAD
        if request.include_authorized_operations and not is_missing:
            described.authorized_operations = access.operations(ResourceType.GROUP, group_id)
        return described

    asked = dict.fromkeys(request.groups)
    groups = yield from Slicer(context.version).each(
        asked, describe, weight=lambda described: 20 + len(described.members)
    )
    return DescribeGroupsResponse(groups=groups)


def _describe(node: Needs, group_id: str, api_version: int) -> DescribedGroup:
    shard = node.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(shard, group_id=group_id)
    return shard.groups.describe_group(group_id, api_version=api_version)

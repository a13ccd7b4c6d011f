"""DescribeGroups, versions 0-6. A group that is asked for twice is described once."""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.handlers.authorized_operations import ON_GROUP
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.groups.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator


def handle(
    node: Needs, request: DescribeGroupsRequest, context: RequestContext
) -> Slices[DescribeGroupsResponse]:
    def describe(group_id: str) -> DescribedGroup:
        described = _describe(node, group_id, context.version)
        is_missing = described.error_code or described.group_state == GroupState.DEAD
        if request.include_authorized_operations and not is_missing:
            described.authorized_operations = ON_GROUP
        return described

    asked = dict.fromkeys(request.groups)
    groups = yield from Slicer(context.version).each(asked, describe, weight=5)
    return DescribeGroupsResponse(groups=groups)


def _describe(node: Needs, group_id: str, api_version: int) -> DescribedGroup:
    shard = node.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(shard, group_id=group_id)
    return shard.groups.describe_group(group_id, api_version=api_version)

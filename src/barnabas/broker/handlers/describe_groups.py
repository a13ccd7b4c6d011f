"""DescribeGroups, versions 0-6."""

from barnabas.broker.authorized_operations import ON_GROUP
from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def handle(
    node: Node, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    described = [_describe(node, group_id, context.version) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in described:
            group.authorized_operations = ON_GROUP
    return DescribeGroupsResponse(groups=described)


def _describe(node: Node, group_id: str, api_version: int) -> DescribedGroup:
    shard = node.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(shard, group_id=group_id)
    return shard.groups.describe_group(group_id, api_version=api_version)

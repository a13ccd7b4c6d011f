"""DescribeGroups, versions 0-6."""

from barnabas.broker.authorized_operations import ON_GROUP
from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def handle(
    node: Node, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    try:
        groups = node.ensure_groups()
    except StorageError:
        return DescribeGroupsResponse(
            groups=[
                DescribedGroup(ErrorCode.COORDINATOR_NOT_AVAILABLE, group_id=group_id)
                for group_id in request.groups
            ]
        )
    described = [
        groups.shard(group_id).groups.describe_group(group_id, api_version=context.version)
        for group_id in request.groups
    ]
    if request.include_authorized_operations:
        for group in described:
            group.authorized_operations = ON_GROUP
    return DescribeGroupsResponse(groups=described)

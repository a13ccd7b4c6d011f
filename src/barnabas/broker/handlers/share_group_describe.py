"""ShareGroupDescribe, version 1: state, members and assignments of share groups.

A group that has an assignment of a topic which the client may not DESCRIBE is not described.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator


def handle(
    node: Needs, request: ShareGroupDescribeRequest, context: RequestContext
) -> Slices[ShareGroupDescribeResponse]:
    access = node.authorization.of(context.connection, "ShareGroupDescribe")

    def describe(group_id: str) -> DescribedGroup:
        shard = node.groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return DescribedGroup(shard, None, group_id)
        described = shard.groups.share.describe(group_id)
        names = {
            topic.topic_name
            for member in described.members
            for topic in member.assignment.topic_partitions
        }
        if not all(access.topic(AclOperation.DESCRIBE, name) for name in sorted(names)):
            return DescribedGroup(
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                "the group reads topics that the client may not describe",
                group_id,
            )
        if request.include_authorized_operations and not described.error_code:
            described.authorized_operations = access.operations(ResourceType.GROUP, group_id)
        return described

    asked = dict.fromkeys(request.group_ids)
    groups = yield from Slicer(context.version).each(asked, describe, weight=5)
    return ShareGroupDescribeResponse(groups=groups)

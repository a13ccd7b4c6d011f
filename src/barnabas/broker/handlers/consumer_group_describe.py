"""ConsumerGroupDescribe, versions 0-1. A group that is asked for twice is described once.

Needs DESCRIBE on each group, and on the topics that its members have: a group with others is not
described.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

_DENIED = "the group reads topics that the client may not describe"


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator


def handle(
    node: Needs, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Slices[ConsumerGroupDescribeResponse]:
    access = node.authorization.of(context.connection, "ConsumerGroupDescribe")

    def describe(group_id: str) -> DescribedGroup:
        shard = node.groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return DescribedGroup(shard, group_id=group_id)
        described = shard.groups.consumer.describe(group_id)
        if not access.is_full and not _may_describe_topics(described, access):
            return DescribedGroup(ErrorCode.TOPIC_AUTHORIZATION_FAILED, _DENIED, group_id)
        if request.include_authorized_operations and not described.error_code:
            described.authorized_operations = access.operations(ResourceType.GROUP, group_id)
        return described

    asked = dict.fromkeys(request.group_ids)
    groups = yield from Slicer(context.version).each(asked, describe, weight=5)
    return ConsumerGroupDescribeResponse(groups=groups)


def _may_describe_topics(group: DescribedGroup, access: RequestAccess) -> bool:
    names = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    }
    return all(access.topic(AclOperation.DESCRIBE, name) for name in names)

"""What ConsumerGroupDescribe and ShareGroupDescribe have in common.

A group that is asked for twice is described once. One whose members have topics that the client may
not describe is not described, as by Kafka.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.groups import GroupShard
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode

_DENIED = "The group has described topic(s) that the client is not authorized to describe."


class Needs(Protocol):
    """What these handlers ask of the node."""

    authorization: Authorization
    groups: GroupCoordinator


def describe_each(
    node: Needs,
    request: Any,
    context: RequestContext,
    describe: Callable[[GroupShard, str], Any],
    assignments: Callable[[Any], Iterable[Any]],
    described_type: type[Any],
) -> Slices[Any]:
    """`assignments` are those of a described member, whose topics it shows."""
    access = node.authorization.of(
        context.connection, type(request).__name__.removesuffix("Request")
    )

    def describe_one(group_id: str) -> Any:
        shard = node.groups.find(group_id)
        if isinstance(shard, ErrorCode):
            return described_type(shard, None, group_id)
        described = describe(shard.groups, group_id)
        if not access.is_full and not _may_describe_topics(described, assignments, access):
            return described_type(ErrorCode.TOPIC_AUTHORIZATION_FAILED, _DENIED, group_id)
        if request.include_authorized_operations and not described.error_code:
            described.authorized_operations = access.operations(ResourceType.GROUP, group_id)
        return described

    asked = dict.fromkeys(request.group_ids)
    groups = yield from Slicer(context.version).each(
        asked, describe_one, weight=lambda described: 20 + 5 * len(described.members)
    )
    return request.RESPONSE(groups=groups)


def _may_describe_topics(
    group: Any, assignments: Callable[[Any], Iterable[Any]], access: RequestAccess
) -> bool:
    names = {
        topic.topic_name
        for member in group.members
        for assignment in assignments(member)
        for topic in assignment.topic_partitions
    }
    return all(access.topic(AclOperation.DESCRIBE, name) for name in sorted(names))

"""Guards of groups and committed offsets."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    CLUSTER_DENIED,
    GROUP_DENIED,
    MESSAGES,
    TOPIC_DENIED,
    TRANSACTIONAL_ID_DENIED,
    Guard,
    Needs,
    Part,
    Verdict,
    refusing,
    refusing_topics,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices, split
from barnabas.groups.names import MAX_SUBSCRIBED_TOPICS
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.message import Response
from barnabas.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.wire.messages.share_group_describe import DescribedGroup as DescribedShareGroup

_TRANSACTION = 1
_SHARE = 2
_SEVERAL_KEYS = 4


def _member() -> Guard:
    def guard(_: Needs, request: Any, access: RequestAccess, __: RequestContext) -> Verdict:
        if access.group(AclOperation.READ, request.group_id):
            return None
        refusal: Response = request.RESPONSE(error_code=GROUP_DENIED)
        return refusal

    return guard


member = _member()
"""READ on the group, of those who join it and stay in it."""


def modern_heartbeat(
    _node: Needs, request: Any, access: RequestAccess, _context: RequestContext
) -> Slices[Verdict]:
    """READ on the group, and DESCRIBE on each topic that is named in the subscription."""
    error = None
    names = frozenset(request.subscribed_topic_names or ())
    if not access.group(AclOperation.READ, request.group_id):
        error = GROUP_DENIED
    elif len(names) > MAX_SUBSCRIBED_TOPICS:
        return None  # which is refused, whatever their names are
    else:
        _, denied = yield from split(names, lambda name: access.topic(AclOperation.DESCRIBE, name))
        error = TOPIC_DENIED if denied else None
    if error is None:
        return None
    refusal: Response = request.RESPONSE(error_code=error, error_message=MESSAGES[error])
    return refusal


def modern_describe(described_type: type[Any]) -> Guard:
    """DESCRIBE on each group; the handler looks at the topics."""

    def guard(
        _: Needs, request: Any, access: RequestAccess, context: RequestContext
    ) -> Slices[Verdict]:
        request.group_ids, denied = yield from split(
            request.group_ids, lambda group: access.group(AclOperation.DESCRIBE, group)
        )
        if not denied:
            return None

        def refuse(group_id: str) -> Any:
            return described_type(GROUP_DENIED, MESSAGES[GROUP_DENIED], group_id)

        return Part(request, refusing("groups", dict.fromkeys(denied), refuse, context))

    return guard


consumer_group_describe = modern_describe(DescribedConsumerGroup)
share_group_describe = modern_describe(DescribedShareGroup)


def find_coordinator(
    _: Needs, request: FindCoordinatorRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DESCRIBE on each group, or on each transactional id; CLUSTER_ACTION for share partitions."""
    is_transaction = request.key_type == _TRANSACTION
    error = TRANSACTIONAL_ID_DENIED if is_transaction else GROUP_DENIED
    allows: Callable[[AclOperation, str], bool] = (
        access.transactional_id if is_transaction else access.group
    )
    if request.key_type == _SHARE:
        error = CLUSTER_DENIED
        may_act = access.cluster(AclOperation.CLUSTER_ACTION)
        allows = lambda _, __: may_act  # noqa: E731 - as the methods above
    if context.version < _SEVERAL_KEYS:
        if allows(AclOperation.DESCRIBE, request.key):
            return None
        return FindCoordinatorResponse(
            error_code=error, error_message=MESSAGES[error], node_id=-1, port=-1
        )
    request.coordinator_keys, denied = yield from split(
        request.coordinator_keys, lambda key: allows(AclOperation.DESCRIBE, key)
    )
    if not denied:
        return None
    finish = refusing(
        "coordinators",
        denied,
        lambda key: Coordinator(key, -1, "", -1, error, MESSAGES[error]),
        context,
    )
    if not request.coordinator_keys:
        return (yield from finish(FindCoordinatorResponse()))
    return Part(request, finish)


def describe_groups(
    _: Needs, request: DescribeGroupsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DESCRIBE on each group."""
    request.groups, denied = yield from split(
        request.groups, lambda group: access.group(AclOperation.DESCRIBE, group)
    )
    if not denied:
        return None

    def refuse(group_id: str) -> DescribedGroup:
        return DescribedGroup(GROUP_DENIED, MESSAGES[GROUP_DENIED], group_id)

    return Part(request, refusing("groups", dict.fromkeys(denied), refuse, context))


def delete_groups(
    _: Needs, request: DeleteGroupsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DELETE on each group."""
    request.groups_names, denied = yield from split(
        request.groups_names, lambda group: access.group(AclOperation.DELETE, group)
    )
    if not denied:
        return None

    def refuse(group_id: str) -> DeletableGroupResult:
        return DeletableGroupResult(group_id, GROUP_DENIED)

    return Part(request, refusing("results", denied, refuse, context))


def offset_delete(
    _: Needs, request: OffsetDeleteRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DELETE on the group, and READ on each topic."""
    if not access.group(AclOperation.DELETE, request.group_id):
        return OffsetDeleteResponse(error_code=GROUP_DENIED)
    request.topics, denied = yield from split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.name)
    )
    if not denied:
        return None
    refuse_topics = refusing_topics(
        "topics",
        denied,
        lambda topic: topic.partitions,
        lambda asked: OffsetDeleteResponsePartition(asked.partition_index, TOPIC_DENIED),
        lambda topic, refused: OffsetDeleteResponseTopic(topic.name, refused),
        context,
    )

    def finish(response: OffsetDeleteResponse) -> OffsetDeleteResponse | Slices[Response]:
        return response if response.error_code else refuse_topics(response)

    return Part(request, finish)

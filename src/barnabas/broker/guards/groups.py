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
    split,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.groups.names import MAX_SUBSCRIBED_TOPICS
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.message import Response
from barnabas.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
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


def modern_heartbeat(_: Needs, request: Any, access: RequestAccess, __: RequestContext) -> Verdict:
    """READ on the group, and DESCRIBE on each topic that is named in the subscription."""
    error = None
    names = frozenset(request.subscribed_topic_names or ())
    if not access.group(AclOperation.READ, request.group_id):
        error = GROUP_DENIED
    elif len(names) > MAX_SUBSCRIBED_TOPICS:
        return None  # which is refused, whatever their names are
    elif not all(access.topic(AclOperation.DESCRIBE, name) for name in names):
        error = TOPIC_DENIED
    if error is None:
        return None
    refusal: Response = request.RESPONSE(error_code=error, error_message=MESSAGES[error])
    return refusal


def modern_describe(described_type: type[Any]) -> Guard:
    """DESCRIBE on each group; the handler looks at the topics."""

    def guard(_: Needs, request: Any, access: RequestAccess, __: RequestContext) -> Verdict:
        request.group_ids, denied = split(
            request.group_ids, lambda group: access.group(AclOperation.DESCRIBE, group)
        )
        if not denied:
            return None

        def finish(response: Any) -> Response:
            response.groups += [
                described_type(GROUP_DENIED, MESSAGES[GROUP_DENIED], group)
                for group in dict.fromkeys(denied)
            ]
            refusing: Response = response
            return refusing

        return Part(request, finish)

    return guard


consumer_group_describe = modern_describe(DescribedConsumerGroup)
share_group_describe = modern_describe(DescribedShareGroup)


def find_coordinator(
    _: Needs, request: FindCoordinatorRequest, access: RequestAccess, context: RequestContext
) -> Verdict:
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
    request.coordinator_keys, denied = split(
        request.coordinator_keys, lambda key: allows(AclOperation.DESCRIBE, key)
    )
    refused = [Coordinator(key, -1, "", -1, error, MESSAGES[error]) for key in denied]
    if not refused:
        return None
    if not request.coordinator_keys:
        return FindCoordinatorResponse(coordinators=refused)

    def finish(response: FindCoordinatorResponse) -> FindCoordinatorResponse:
        response.coordinators += refused
        return response

    return Part(request, finish)


def describe_groups(
    _: Needs, request: DescribeGroupsRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """DESCRIBE on each group."""
    request.groups, denied = split(
        request.groups, lambda group: access.group(AclOperation.DESCRIBE, group)
    )
    if not denied:
        return None

    def finish(response: DescribeGroupsResponse) -> DescribeGroupsResponse:
        response.groups += [
            DescribedGroup(GROUP_DENIED, MESSAGES[GROUP_DENIED], group)
            for group in dict.fromkeys(denied)
        ]
        return response

    return Part(request, finish)


def list_groups(
    _: Needs, request: ListGroupsRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """DESCRIBE on the cluster shows all groups; on a group, that group."""
    if access.cluster(AclOperation.DESCRIBE, log=False):
        return None

    def finish(response: ListGroupsResponse) -> ListGroupsResponse:
        response.groups = [
            group
            for group in response.groups
            if access.group(AclOperation.DESCRIBE, group.group_id, log=False)
        ]
        return response

    return Part(request, finish)


def delete_groups(
    _: Needs, request: DeleteGroupsRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """DELETE on each group."""
    request.groups_names, denied = split(
        request.groups_names, lambda group: access.group(AclOperation.DELETE, group)
    )
    if not denied:
        return None

    def finish(response: DeleteGroupsResponse) -> DeleteGroupsResponse:
        response.results += [DeletableGroupResult(group, GROUP_DENIED) for group in denied]
        return response

    return Part(request, finish)


def offset_delete(
    _: Needs, request: OffsetDeleteRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """DELETE on the group, and READ on each topic."""
    if not access.group(AclOperation.DELETE, request.group_id):
        return OffsetDeleteResponse(error_code=GROUP_DENIED)
    request.topics, denied = split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.name)
    )
    if not denied:
        return None

    def finish(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if not response.error_code:
            response.topics += [
                OffsetDeleteResponseTopic(
                    topic.name,
                    [
                        OffsetDeleteResponsePartition(each.partition_index, TOPIC_DENIED)
                        for each in topic.partitions
                    ],
                )
                for topic in denied
            ]
        return response

    return Part(request, finish)

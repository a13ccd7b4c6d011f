"""Guards of the settings of topics, brokers and groups."""

from typing import Any

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.guards.guard import (
    CLUSTER_DENIED,
    GROUP_DENIED,
    MESSAGES,
    TOPIC_DENIED,
    Needs,
    Part,
    Verdict,
    split,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)


def describe_configs(
    _: Needs, request: DescribeConfigsRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """DESCRIBE_CONFIGS on each topic or group; on the cluster for brokers."""
    request.resources, denied = split(
        request.resources, lambda each: _allows(access, AclOperation.DESCRIBE_CONFIGS, each)
    )
    if not denied:
        return None

    def finish(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        for each in denied:
            error = _error(each.resource_type)
            response.results.append(
                DescribeConfigsResult(
                    error, MESSAGES[error], each.resource_type, each.resource_name
                )
            )
        return response

    return Part(request, finish)


def alter_configs(_: Needs, request: Any, access: RequestAccess, __: RequestContext) -> Verdict:
    """ALTER_CONFIGS on each topic or group; on the cluster for brokers."""
    request.resources, denied = split(
        request.resources, lambda each: _allows(access, AclOperation.ALTER_CONFIGS, each)
    )
    if not denied:
        return None
    refuse = CONTROLLER_APIS[type(request)].refuse
    allowed = request.resources
    refused: list[Any] = []
    for each in denied:
        request.resources = [each]
        error = _error(each.resource_type)
        answer: Any = refuse(request, error, MESSAGES[error])
        refused += answer.responses
    request.resources = allowed

    def finish(response: Any) -> Any:
        response.responses += refused
        return response

    return Part(request, finish) if allowed else finish(request.RESPONSE())


def _allows(access: RequestAccess, operation: AclOperation, resource: Any) -> bool:
    if resource.resource_type == TOPIC_RESOURCE:
        return access.topic(operation, resource.resource_name)
    if resource.resource_type == GROUP_RESOURCE:
        return access.group(operation, resource.resource_name)
    return access.cluster(operation)


def _error(resource_type: int) -> ErrorCode:
    return {TOPIC_RESOURCE: TOPIC_DENIED, GROUP_RESOURCE: GROUP_DENIED}.get(
        resource_type, CLUSTER_DENIED
    )

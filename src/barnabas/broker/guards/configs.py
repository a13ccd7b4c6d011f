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
    refusing,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import SLICE, Slices, split
from barnabas.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)


def describe_configs(
    _: Needs, request: DescribeConfigsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DESCRIBE_CONFIGS on each topic or group; on the cluster for brokers."""
    request.resources, denied = yield from split(
        request.resources, lambda each: _allows(access, AclOperation.DESCRIBE_CONFIGS, each)
    )
    if not denied:
        return None

    def refuse(each: DescribeConfigsResource) -> DescribeConfigsResult:
        error = _error(each.resource_type)
        return DescribeConfigsResult(error, MESSAGES[error], each.resource_type, each.resource_name)

    return Part(request, refusing("results", denied, refuse, context))


def alter_configs(
    _: Needs, request: Any, access: RequestAccess, __: RequestContext
) -> Slices[Verdict]:
    """ALTER_CONFIGS on each topic or group; on the cluster for brokers."""
    request.resources, denied = yield from split(
        request.resources, lambda each: _allows(access, AclOperation.ALTER_CONFIGS, each)
    )
    if not denied:
        return None
    refuse = CONTROLLER_APIS[type(request)].refuse
    allowed = request.resources
    refused: list[Any] = []
    for number, each in enumerate(denied, 1):
        request.resources = [each]
        error = _error(each.resource_type)
        answer: Any = refuse(request, error, MESSAGES[error])
        refused += answer.responses
        if not number % SLICE:
            yield
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

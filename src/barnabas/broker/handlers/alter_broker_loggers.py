"""IncrementalAlterConfigs, versions 0-1: levels of loggers of brokers; the rest is for the
controller.

Levels are state of one process: the broker that a resource names changes them, and other brokers
send the resource on to it. A level is set, or taken back, so that the logger has that of the one
above it; the root always has one. All changes of a resource are checked before the first is made.
"""

from typing import Protocol

from barnabas.broker.control.controller_calls import LANE
from barnabas.broker.handlers import for_controller
from barnabas.broker.logs.logger_levels import LEVELS, ROOT, logger_names, set_level, unset_level
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.controller.configs import LOGGER_RESOURCE, OPERATION_DELETE, OPERATION_SET
from barnabas.controller.decision import Refusal
from barnabas.metadata.config_values import did_you_mean
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_ASK_TIMEOUT_MS = 3_000


class Needs(for_controller.Needs, Protocol):
    """What this handler asks of the node."""

    node_id: int
    peers: Peers


async def handle(
    node: Needs, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> Response:
    loggers = [each for each in request.resources if each.resource_type == LOGGER_RESOURCE]
    if not loggers:
        return await for_controller.handle(node, request, context)
    rest = [each for each in request.resources if each.resource_type != LOGGER_RESOURCE]
    response = IncrementalAlterConfigsResponse()
    for resource in loggers:
        response.responses.append(
            await _alter(node, resource, context, validate_only=request.validate_only)
        )
    if rest:
        request.resources = rest
        others = await for_controller.handle(node, request, context)
        assert isinstance(others, IncrementalAlterConfigsResponse)
        response.responses += others.responses
        response.throttle_time_ms = others.throttle_time_ms
    return response


async def _alter(
    node: Needs, resource: AlterConfigsResource, context: RequestContext, *, validate_only: bool
) -> AlterConfigsResourceResponse:
    name = resource.resource_name
    try:
        if name == str(node.node_id):
            for change in resource.configs:
                _check(change)
            if not validate_only:
                _apply(resource)
            return _answer(resource)
        others = {str(broker_id) for broker_id in node.image.brokers}
        if context.connection.peer is not None or name not in others:
            raise Refusal(ErrorCode.INVALID_REQUEST, f"there is no broker {name!r}")
        question = IncrementalAlterConfigsRequest([resource], validate_only)
        answer = await node.peers.call(
            int(name), question, question.MAX_VERSION, timeout_ms=_ASK_TIMEOUT_MS, lane=LANE
        )
        return answer.responses[0]
    except Refusal as refusal:
        return _answer(resource, refusal.error_code, refusal.message)
    except PeerUnavailable as error:
        return _answer(resource, ErrorCode.REQUEST_TIMED_OUT, str(error))


def _answer(
    resource: AlterConfigsResource, error: int = 0, message: str | None = None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error, message, resource.resource_type, resource.resource_name
    )


def _check(change: AlterableConfig) -> None:
    known = list(logger_names())
    if change.name not in known:
        hint = did_you_mean(change.name, known)
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist!{hint}")
    if change.config_operation == OPERATION_SET:
        if change.value not in LEVELS:
            levels = ", ".join(LEVELS)
            why = f"{change.value!r} is not a level of {change.name}; use one of {levels}"
            raise Refusal(ErrorCode.INVALID_CONFIG, why)
    elif change.config_operation != OPERATION_DELETE:
        raise Refusal(ErrorCode.INVALID_REQUEST, "a level is not a list: can't append or subtract")
    elif change.name == ROOT:
        why = "the root logger always has a level: set it instead"
        raise Refusal(ErrorCode.INVALID_REQUEST, why)


def _apply(resource: AlterConfigsResource) -> None:
    for change in resource.configs:
        if change.config_operation == OPERATION_SET:
            assert change.value is not None
            set_level(change.name, change.value)
        else:
            unset_level(change.name)

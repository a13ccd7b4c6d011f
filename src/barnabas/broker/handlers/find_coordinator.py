"""FindCoordinator, versions 0-6: for groups it is this node. Transactions are not served."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_GROUP = 0
_TRANSACTION = 1
_SEVERAL_KEYS = 4


def handle(
    node: Node, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    error, message = _check(node, request.key_type)
    if context.version >= _SEVERAL_KEYS:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(node, key, error, message, context) for key in request.coordinator_keys
            ]
        )
    found = _coordinator(node, request.key, error, message, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _check(node: Node, key_type: int) -> tuple[ErrorCode, str | None]:
    if key_type == _TRANSACTION:
        return (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "transactions are not supported by this broker",
        )
    if key_type != _GROUP:
        return ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {key_type}"
    try:
        node.ensure_groups()
    except StorageError as error:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)
    return ErrorCode.NONE, None


def _coordinator(
    node: Node, key: str, error: ErrorCode, message: str | None, context: RequestContext
) -> Coordinator:
    if error:
        return Coordinator(key, -1, "", -1, error, message)
    endpoint = node.endpoint(context.connection)
    return Coordinator(key, node.node_id, endpoint.host, endpoint.port, 0, None)

"""Heartbeat, versions 0-4."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(node: Node, request: HeartbeatRequest, _: RequestContext) -> HeartbeatResponse:
    try:
        groups = node.ensure_groups()
    except StorageError:
        return HeartbeatResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = groups.shard(request.group_id)
    return shard.groups.heartbeat(request, now_ms=groups.now_ms())

"""Heartbeat, versions 0-4."""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(node: Node, request: HeartbeatRequest, _: RequestContext) -> HeartbeatResponse:
    shard = node.groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return HeartbeatResponse(error_code=shard)
    return shard.groups.heartbeat(request, now_ms=shard.now_ms())

"""Heartbeat, versions 0-4."""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator


def handle(node: Needs, request: HeartbeatRequest, _: RequestContext) -> HeartbeatResponse:
    shard = node.groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return HeartbeatResponse(error_code=shard)
    return shard.groups.classic.heartbeat(request, now_ms=shard.now_ms())

"""Heartbeat, versions 0-4."""

from barnabas.broker.handlers.group_shards import FollowsMembers, follow_member
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(
    node: FollowsMembers, request: HeartbeatRequest, context: RequestContext
) -> HeartbeatResponse:
    shard = node.groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return HeartbeatResponse(error_code=shard)
    response = shard.groups.classic.heartbeat(request, now_ms=shard.now_ms())
    follow_member(node, request.group_id, request.member_id, context)
    return response

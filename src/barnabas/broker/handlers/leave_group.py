"""LeaveGroup, versions 0-5: one member, or from version 3 on several."""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.group_shards import FollowsMembers, decided_by_shard
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def handle(
    node: FollowsMembers, request: LeaveGroupRequest, context: RequestContext
) -> "LeaveGroupResponse | Future[Any]":
    for member_id in (request.member_id, *(each.member_id for each in request.members)):
        node.member_connections.left(request.group_id, member_id)
    return decided_by_shard(
        node,
        request.group_id,
        lambda error: LeaveGroupResponse(error_code=error),
        lambda groups, token, now_ms: groups.classic.leave_group(
            request, token=token, api_version=context.version, now_ms=now_ms
        ),
    )

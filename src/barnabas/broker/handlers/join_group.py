"""JoinGroup, versions 0-9. The answer comes when all members have joined, or time is up."""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.group_shards import (
    FollowsMembers,
    decided_by_shard,
    follow_member,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(
    node: FollowsMembers, request: JoinGroupRequest, context: RequestContext
) -> "JoinGroupResponse | Future[Any]":
    answer = decided_by_shard(
        node,
        request.group_id,
        lambda error: JoinGroupResponse(error_code=error),
        lambda groups, token, now_ms: groups.classic.join_group(
            request,
            token=token,
            client_id=context.client_id,
            client_host=f"/{context.client_host}",
            api_version=context.version,
            now_ms=now_ms,
        ),
    )
    if request.member_id:  # it may be killed before its first heartbeat
        follow_member(node, request.group_id, request.member_id, context)
    return answer

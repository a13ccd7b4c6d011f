"""LeaveGroup, versions 0-5: one member, or from version 3 on several."""

from asyncio import Future
from typing import Any

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def handle(
    node: Node, request: LeaveGroupRequest, context: RequestContext
) -> "LeaveGroupResponse | Future[Any]":
    try:
        groups = node.ensure_groups()
    except StorageError:
        return LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = groups.shard(request.group_id)
    return groups.decide(
        shard,
        lambda token: shard.groups.leave_group(
            request, token=token, api_version=context.version, now_ms=groups.now_ms()
        ),
    )

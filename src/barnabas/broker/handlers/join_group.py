"""JoinGroup, versions 0-9. The answer comes when all members have joined, or time is up."""

from asyncio import Future
from typing import Any

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(
    node: Node, request: JoinGroupRequest, context: RequestContext
) -> "JoinGroupResponse | Future[Any]":
    try:
        groups = node.ensure_groups()
    except StorageError:
        return JoinGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = groups.shard(request.group_id)
    return groups.decide(
        shard,
        lambda token: shard.groups.join_group(
            request,
            token=token,
            client_id=context.client_id,
            client_host=f"/{context.client_host}",
            api_version=context.version,
            now_ms=groups.now_ms(),
        ),
    )

"""SyncGroup, versions 0-5. The answer comes when the leader's assignment is persisted."""

from asyncio import Future
from typing import Any

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def handle(
    node: Node, request: SyncGroupRequest, _: RequestContext
) -> "SyncGroupResponse | Future[Any]":
    try:
        groups = node.ensure_groups()
    except StorageError:
        return SyncGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = groups.shard(request.group_id)
    return groups.decide(
        shard,
        lambda token: shard.groups.sync_group(request, token=token, now_ms=groups.now_ms()),
    )

"""SyncGroup, versions 0-5. The answer comes when the leader's assignment is persisted."""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.group_shards import Needs, decided_by_shard
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def handle(
    node: Needs, request: SyncGroupRequest, _: RequestContext
) -> "SyncGroupResponse | Future[Any]":
    return decided_by_shard(
        node,
        request.group_id,
        lambda error: SyncGroupResponse(error_code=error),
        lambda groups, token, now_ms: groups.classic.sync_group(
            request, token=token, now_ms=now_ms
        ),
    )

"""OffsetDelete, version 0."""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.group_shards import Needs, decided_by_shard, partition_exists
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse


def handle(
    node: Needs, request: OffsetDeleteRequest, _: RequestContext
) -> "OffsetDeleteResponse | Future[Any]":
    def check(topic: str, index: int) -> ErrorCode:
        known = partition_exists(node, topic, index)
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    return decided_by_shard(
        node,
        request.group_id,
        lambda error: OffsetDeleteResponse(error_code=error),
        lambda groups, token, now_ms: groups.offset_delete(
            request, token=token, now_ms=now_ms, check_partition=check
        ),
    )

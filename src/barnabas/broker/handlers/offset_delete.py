"""OffsetDelete, version 0."""

from asyncio import Future
from typing import Any

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse


def handle(
    node: Node, request: OffsetDeleteRequest, _: RequestContext
) -> "OffsetDeleteResponse | Future[Any]":
    try:
        groups = node.ensure_groups()
    except StorageError:
        return OffsetDeleteResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def check(topic: str, index: int) -> ErrorCode:
        known = node.partitions.get(topic, index) is not None
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    shard = groups.shard(request.group_id)
    return groups.decide(
        shard,
        lambda token: shard.groups.offset_delete(request, token=token, check_partition=check),
    )

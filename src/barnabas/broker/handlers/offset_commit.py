"""OffsetCommit, versions 2-10. From version 10 on topics are named by id.

From version 9 on members of consumer groups may commit, with their member epoch.
"""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.group_shards import Needs, decided_by_shard, partition_exists
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_BY_ID = 10
_MEMBER_EPOCHS = 9


def handle(
    node: Needs, request: OffsetCommitRequest, context: RequestContext
) -> "OffsetCommitResponse | Future[Any]":
    if context.version >= _BY_ID:
        for topic in request.topics:
            image = node.image.topics_by_id.get(topic.topic_id)
            topic.name = image.name if image is not None else ""

    def check(topic: OffsetCommitRequestTopic, index: int) -> ErrorCode:
        if not topic.name:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not partition_exists(node, topic.name, index):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    return decided_by_shard(
        node,
        request.group_id,
        lambda error: _failed(request, error),
        lambda groups, token, now_ms: groups.offset_commit(
            request,
            token=token,
            now_ms=now_ms,
            check_partition=check,
            uses_epochs=context.version >= _MEMBER_EPOCHS,
        ),
    )


def _failed(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [OffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )

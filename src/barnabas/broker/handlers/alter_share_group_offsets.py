"""AlterShareGroupOffsets, version 0: let an empty share group begin at other offsets."""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.share.group_states import GroupStates, in_parts, one_by_one
from barnabas.metadata.image import MetadataImage
from barnabas.share.state import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    image: MetadataImage
    share_group_states: GroupStates


async def handle(
    node: Needs, request: AlterShareGroupOffsetsRequest, _: RequestContext
) -> AlterShareGroupOffsetsResponse:
    async with node.share_group_states.turn(request.group_id):
        return await _alter_all(node, request)


async def _alter_all(
    node: Needs, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    group_id = request.group_id
    shard = node.groups.find(group_id)
    error = shard if isinstance(shard, ErrorCode) else shard.groups.share.check_empty(group_id)
    if error:
        return AlterShareGroupOffsetsResponse(
            error_code=error, error_message=_MESSAGES.get(error, "").format(group_id) or None
        )
    first: dict[str, AlterShareGroupOffsetsRequestTopic] = {}
    for topic in request.topics:
        first.setdefault(topic.topic_name, topic)
    return AlterShareGroupOffsetsResponse(
        responses=await one_by_one(
            _alter(node, group_id, topic, is_repeated=first[topic.topic_name] is not topic)
            for topic in request.topics
        )
    )


_MESSAGES = {
    ErrorCode.GROUP_ID_NOT_FOUND: "Group {} not found.",
    ErrorCode.NON_EMPTY_GROUP: "Group {} is not empty.",
}


async def _alter(
    node: Needs, group_id: str, topic: AlterShareGroupOffsetsRequestTopic, *, is_repeated: bool
) -> AlterShareGroupOffsetsResponseTopic:
    image = node.image.topics.get(topic.topic_name)
    topic_id = bytes(16) if image is None else image.topic_id
    count = 0 if image is None else len(image.partitions)

    async def alter(
        asked: AlterShareGroupOffsetsRequestPartition,
    ) -> AlterShareGroupOffsetsResponsePartition:
        index = asked.partition_index
        if not 0 <= index < count:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif asked.start_offset < 0 or is_repeated:
            error = ErrorCode.INVALID_REQUEST
        else:
            error = await node.share_group_states.reset(
                SharePartitionKey(group_id, topic_id, index), topic.topic_name, asked.start_offset
            )
        return AlterShareGroupOffsetsResponsePartition(index, error)

    unique = {each.partition_index: each for each in topic.partitions}
    return AlterShareGroupOffsetsResponseTopic(
        topic.topic_name, topic_id, await in_parts(alter(each) for each in unique.values())
    )

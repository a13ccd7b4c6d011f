"""DeleteShareGroupOffsets, version 0: let an empty share group forget topics."""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.share.group_states import GroupStates, one_by_one
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    image: MetadataImage
    share_group_states: GroupStates


async def handle(
    node: Needs, request: DeleteShareGroupOffsetsRequest, _: RequestContext
) -> DeleteShareGroupOffsetsResponse:
    async with node.share_group_states.turn(request.group_id):
        return await _delete_all(node, request)


async def _delete_all(
    node: Needs, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    group_id = request.group_id
    shard = node.groups.find(group_id)
    error = shard if isinstance(shard, ErrorCode) else shard.groups.share.check_empty(group_id)
    if error:
        return DeleteShareGroupOffsetsResponse(error_code=error)
    return DeleteShareGroupOffsetsResponse(
        responses=await one_by_one(
            _delete(node, group_id, name)
            for name in dict.fromkeys(topic.topic_name for topic in request.topics)
        )
    )


async def _delete(node: Needs, group_id: str, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    image = node.image.topics.get(name)
    if image is None:
        return DeleteShareGroupOffsetsResponseTopic(
            name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
    error = await node.share_group_states.delete(group_id, [image.topic_id])
    return DeleteShareGroupOffsetsResponseTopic(name, image.topic_id, error)

"""DescribeShareGroupOffsets, versions 0-1: where share groups are in their partitions.

Version 1 has the lag: records from the start offset on that are not done with. A group is described
once: a short request that repeats one would have an endless answer. Topics that the client may not
describe get an error, and are left out if all are asked for. With our own field OfLeader the node
answers for the partitions that it leads; see `led_share_partitions.py`.
"""

from asyncio import gather, sleep
from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.handlers.led_share_partitions import describe_led
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer
from barnabas.broker.share.group_states import in_parts, one_by_one
from barnabas.broker.share.share_partitions import SharePartitions
from barnabas.broker.share.state_calls import StateCalls
from barnabas.groups.share.state import TopicStates
from barnabas.metadata.image import MetadataImage
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_LATEST = -1
_LIST_OFFSETS_VERSION = 7
_TIMEOUT_MS = 3_000
_LANE = "share"
_NO_LAG = -1
_WEIGHT = 5
"""Of a group, as small elements of a slice."""


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator
    image: MetadataImage
    node_id: int
    partitions: Partitions
    peers: Peers
    share_partitions: SharePartitions
    share_states: StateCalls


async def handle(
    node: Needs, request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    access = node.authorization.of(context.connection, "DescribeShareGroupOffsets")
    slicer = Slicer(context.version)
    response = DescribeShareGroupOffsetsResponse()
    described: set[str] = set()
    for asked in request.groups:
        is_repeated = asked.group_id in described
        described.add(asked.group_id)
        refused = _take_refused(asked, access)
        if is_repeated:
            group = _repeated(asked.group_id)
        elif request.of_leader:
            group = await describe_led(node, asked)
        else:
            group = await _describe(node, asked, access)
        group.topics += refused
        response.groups.append(slicer.part(group))
        if slicer.is_due(_WEIGHT):
            await sleep(0)
    return response


def _take_refused(
    asked: DescribeShareGroupOffsetsRequestGroup, access: RequestAccess
) -> list[DescribeShareGroupOffsetsResponseTopic]:
    """Take out the topics that the client may not describe, whatever becomes of the group."""
    if asked.topics is None:
        return []
    allowed: list[DescribeShareGroupOffsetsRequestTopic] = []
    denied: list[DescribeShareGroupOffsetsRequestTopic] = []
    for topic in asked.topics:
        may_describe = access.topic(AclOperation.DESCRIBE, topic.topic_name)
        (allowed if may_describe else denied).append(topic)
    asked.topics = allowed
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return [_refused(topic, error, "Topic authorization failed.") for topic in denied]


def _repeated(group_id: str) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id,
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=f"group {group_id} is in the request twice",
    )


async def _describe(
    node: Needs, asked: DescribeShareGroupOffsetsRequestGroup, access: RequestAccess
) -> DescribeShareGroupOffsetsResponseGroup:
    group_id = asked.group_id
    shard = node.groups.find(group_id)
    if not isinstance(shard, ErrorCode) and not shard.groups.share.is_share_group(group_id):
        shard = ErrorCode.GROUP_ID_NOT_FOUND
    if isinstance(shard, ErrorCode):
        message = f"Group {group_id} not found." if shard is ErrorCode.GROUP_ID_NOT_FOUND else None
        return DescribeShareGroupOffsetsResponseGroup(
            group_id, error_code=shard, error_message=message
        )
    known = shard.groups.share.initialized_states(group_id)
    topics = all_topics(known, access) if asked.topics is None else asked.topics
    return DescribeShareGroupOffsetsResponseGroup(
        group_id, await one_by_one(_topic(node, group_id, known, topic) for topic in topics)
    )


def all_topics(
    known: TopicStates, access: RequestAccess
) -> list[DescribeShareGroupOffsetsRequestTopic]:
    """The topics of a group that the client may describe."""
    return [
        DescribeShareGroupOffsetsRequestTopic(name, sorted(indexes))
        for name, indexes in sorted(known.values())
        if access.topic(AclOperation.DESCRIBE, name, log=False)
    ]


async def _topic(
    node: Needs, group_id: str, known: TopicStates, asked: DescribeShareGroupOffsetsRequestTopic
) -> DescribeShareGroupOffsetsResponseTopic:
    image = node.image.topics.get(asked.topic_name)
    if image is None:
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    states = known.get(image.topic_id)
    return DescribeShareGroupOffsetsResponseTopic(
        asked.topic_name,
        image.topic_id,
        await in_parts(
            _partition(
                node,
                SharePartitionKey(group_id, image.topic_id, index),
                asked.topic_name,
                is_known=states is not None and index in states.indexes,
            )
            for index in dict.fromkeys(asked.partitions)
        ),
    )


def _refused(
    asked: DescribeShareGroupOffsetsRequestTopic, error: ErrorCode, message: str | None = None
) -> DescribeShareGroupOffsetsResponseTopic:
    return DescribeShareGroupOffsetsResponseTopic(
        asked.topic_name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                index, -1, 0, error_code=error, error_message=message
            )
            for index in asked.partitions
        ],
    )


async def _partition(
    node: Needs, key: SharePartitionKey, topic: str, *, is_known: bool
) -> DescribeShareGroupOffsetsResponsePartition:
    if not is_known:
        return DescribeShareGroupOffsetsResponsePartition(key.partition, NO_START_OFFSET)
    summary, end_offset = await gather(
        node.share_states.summary(key), _end_offset(node, topic, key.partition)
    )
    lag = _NO_LAG
    if summary.start_offset >= 0 and end_offset is not None:
        lag = max(0, end_offset - summary.start_offset - max(0, summary.delivery_complete_count))
    return DescribeShareGroupOffsetsResponsePartition(
        key.partition,
        summary.start_offset,
        summary.leader_epoch,
        lag,
        summary.error_code,
        summary.error_message,
    )


async def _end_offset(node: Needs, topic: str, index: int) -> int | None:
    image = node.image.topics.get(topic)
    if image is None or not 0 <= index < len(image.partitions):
        return None
    leader_id = image.partitions[index].leader
    if leader_id == node.node_id:
        partition = node.partitions.find(topic, index)
        return None if isinstance(partition, ErrorCode) else partition.high_watermark
    if leader_id < 0:
        return None
    request = ListOffsetsRequest(
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(index, -1, timestamp=_LATEST)])]
    )
    try:
        response = await node.peers.call(
            leader_id, request, _LIST_OFFSETS_VERSION, timeout_ms=_TIMEOUT_MS, lane=_LANE
        )
    except PeerUnavailable:
        return None
    found = response.topics[0].partitions[0]
    return None if found.error_code else found.offset

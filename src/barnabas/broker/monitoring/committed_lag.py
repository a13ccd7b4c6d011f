"""Log ends of the partitions for which groups have committed offsets.

The coordinator of a group knows what is committed. It knows the end of a partition if it has a
replica, and asks the leader otherwise: one request to each leader in each scrape.
"""

from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable

from barnabas.broker.net.peers import PeerUnavailable
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_LANE = "lag"
_TIMEOUT_MS = 2_000
_CONSUMER = -1
_LATEST = -1

TopicPartition = tuple[str, int]
Ends = dict[TopicPartition, int]


async def log_ends(node: Node, wanted: Iterable[TopicPartition]) -> Ends:
    """High watermarks; partitions whose leader does not answer in time are left out."""
    ends: Ends = {}
    elsewhere: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for topic, index in wanted:
        partition = node.partitions.get(topic, index)
        if partition is not None:
            ends[topic, index] = partition.high_watermark
            continue
        image = node.image.topics.get(topic)
        if image is not None and index < len(image.partitions):
            leader = image.partitions[index].leader
            if leader >= 0 and leader != node.node_id:
                elsewhere[leader].append((topic, index))
    asked = (_ask(node, leader, those) for leader, those in elsewhere.items())
    for found in await gather(*asked):
        ends |= found
    return ends


async def _ask(node: Node, leader: int, wanted: list[TopicPartition]) -> Ends:
    topics: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for topic, index in wanted:
        topics[topic].append(ListOffsetsPartition(index, -1, _LATEST))
    request = ListOffsetsRequest(
        _CONSUMER, 0, [ListOffsetsTopic(name, asked) for name, asked in topics.items()]
    )
    try:
        response = await node.peers.call(
            leader, request, request.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=_LANE
        )
    except PeerUnavailable:
        return {}
    return {
        (topic.name, each.partition_index): each.offset
        for topic in response.topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NONE
    }

"""DescribeShareGroupOffsets of leaders: which records of a partition are in flight.

The coordinator of a group does not know it, and Kafka has no field for it. So a request with our
own field OfLeader goes to the leaders of the partitions. A share partition that no consumer reads
from here is read from its share coordinator: nothing of it is with a member.
"""

from typing import Protocol

from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.share.group_states import in_parts, one_by_one
from barnabas.broker.share.share_partitions import SharePartitions
from barnabas.broker.share.state_calls import StateCalls, state_batches
from barnabas.metadata.image import SHARE_GROUP_STATE, MetadataImage
from barnabas.share.in_flight_summary import InFlightSummary
from barnabas.share.share_partition import SharePartition
from barnabas.share.state import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_share_group_offsets import (
    DeliveredRecords,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
    InFlightRecords,
)


class Needs(Protocol):
    """What this asks of the node."""

    image: MetadataImage
    partitions: Partitions
    share_partitions: SharePartitions
    share_states: StateCalls


async def describe_led(
    node: Needs, asked: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    """What this node knows of the partitions that it leads."""
    group_id = asked.group_id
    if asked.topics is None:
        return DescribeShareGroupOffsetsResponseGroup(
            group_id,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="the leader of partitions has to be asked for them by topic",
        )
    return DescribeShareGroupOffsetsResponseGroup(
        group_id, await one_by_one(_topic(node, group_id, topic) for topic in asked.topics)
    )


async def _topic(
    node: Needs, group_id: str, asked: DescribeShareGroupOffsetsRequestTopic
) -> DescribeShareGroupOffsetsResponseTopic:
    name = asked.topic_name
    image = node.image.topics.get(name)
    return DescribeShareGroupOffsetsResponseTopic(
        name,
        bytes(16) if image is None else image.topic_id,
        await in_parts(
            _partition(node, group_id, name, index) for index in dict.fromkeys(asked.partitions)
        ),
    )


async def _partition(
    node: Needs, group_id: str, topic: str, index: int
) -> DescribeShareGroupOffsetsResponsePartition:
    partition = node.partitions.find(topic, index)
    if isinstance(partition, ErrorCode):
        return _failed(index, partition)
    if not partition.is_leader:
        return _failed(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leader_epoch = partition.leader_epoch
    led = node.share_partitions.get(group_id, partition.topic_id, index)
    state = None if led is None else led.state
    if state is None:
        if SHARE_GROUP_STATE not in node.image.topics:
            return _failed(index, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        key = SharePartitionKey(group_id, partition.topic_id, index)
        read = await node.share_states.read(key, leader_epoch)
        if read.error_code:
            return _failed(index, ErrorCode(read.error_code))
        state = SharePartition(read.start_offset, state_batches(read))
    return DescribeShareGroupOffsetsResponsePartition(
        index, state.start_offset, leader_epoch, in_flight=_to_wire(state.summary())
    )


def _failed(index: int, error: ErrorCode) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(index, -1, error_code=error)


def _to_wire(summary: InFlightSummary) -> InFlightRecords:
    return InFlightRecords(
        summary.acquired,
        summary.released,
        summary.done,
        [DeliveredRecords(*each) for each in summary.deliveries.items()],
    )

"""ListOffsets, versions 1-11: the offset at a time, or the first, the last, the newest by time.

Special timestamps: -1 latest, -2 earliest, -3 the record with the largest timestamp, -4 the
earliest on this machine's disk (the same as -2 here), -5 the latest in tiered storage and -6 the
earliest on its way there (there is none, so the answer is -1).
"""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.leadership import leader_error
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6


def handle(node: Node, request: ListOffsetsRequest, _: RequestContext) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                topic.name,
                [
                    _answer(node.partitions.get(topic.name, asked.partition_index), asked)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(
    partition: Partition | None, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    error = leader_error(partition, asked.current_leader_epoch)
    if partition is None or error:
        return ListOffsetsPartitionResponse(index, error)
    try:
        offset, timestamp, epoch = _lookup(partition, asked.timestamp)
    except StorageError:
        return ListOffsetsPartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    return ListOffsetsPartitionResponse(index, 0, timestamp, offset, epoch)


def _lookup(partition: Partition, timestamp: int) -> tuple[int, int, int]:
    log = partition.log
    if timestamp == LATEST:
        return partition.high_watermark, -1, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1, log.leader_epoch_for(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1, -1
    if timestamp == MAX_TIMESTAMP:
        found = log.offset_of_max_timestamp()
    else:
        found = log.offset_for_timestamp(timestamp)
    if found is None or found.offset >= partition.high_watermark:
        return -1, -1, -1
    return found.offset, found.timestamp, found.leader_epoch

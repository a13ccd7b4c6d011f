"""ListOffsets, versions 1-11: the offset at a time, or the first, the last, the newest by time.

Special timestamps: -1 latest, -2 earliest, -3 the record with the largest timestamp, -4 the
earliest on this machine's disk (the same as -2 here), -5 the latest in tiered storage and -6 the
earliest on its way there (there is none, so the answer is -1). The latest is the end of what is
committed, or from the oldest open transaction on if only committed records are asked for (isolation
level 1); a new leader that does not know that yet says so.

The replica id -2 asks the replica on this node, whether it leads or not. The latest is then where
its log ends, with the epoch of the last record.
"""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import leader_error
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer, Slices
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


_OFFSET_NOT_AVAILABLE_FROM = 5
_READ_COMMITTED = 1
ANY_REPLICA = -2
_WEIGHT = 20
"""A timestamp is looked up in files."""


class Needs(Protocol):
    """What this handler asks of the node."""

    partitions: Partitions


def handle(
    node: Needs, request: ListOffsetsRequest, context: RequestContext
) -> Slices[ListOffsetsResponse]:
    not_available = (
        ErrorCode.OFFSET_NOT_AVAILABLE
        if context.version >= _OFFSET_NOT_AVAILABLE_FROM
        else ErrorCode.LEADER_NOT_AVAILABLE
    )
    committed_only = request.isolation_level == _READ_COMMITTED
    slicer = Slicer(context.version)
    response = ListOffsetsResponse()
    for topic in request.topics:
        answered = ListOffsetsTopicResponse(topic.name)
        for asked in topic.partitions:
            found = node.partitions.find(topic.name, asked.partition_index)
            part = _answer(
                found,
                asked,
                not_available,
                committed_only=committed_only,
                any_replica=request.replica_id == ANY_REPLICA,
            )
            answered.partitions.append(slicer.part(part))
            is_lookup = asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP
            if slicer.is_due(_WEIGHT if is_lookup else 2):
                yield
        response.topics.append(answered)
    return response


def _answer(
    found: Partition | ErrorCode,
    asked: ListOffsetsPartition,
    not_available: ErrorCode,
    *,
    committed_only: bool,
    any_replica: bool,
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    if any_replica and isinstance(found, Partition) and asked.timestamp == LATEST:
        epoch, end_offset = found.log_end
        return ListOffsetsPartitionResponse(index, 0, -1, end_offset, epoch)
    error = leader_error(found, asked.current_leader_epoch)
    if isinstance(found, ErrorCode) or error:
        return ListOffsetsPartitionResponse(index, error)
    end_offset = found.last_stable_offset if committed_only else found.high_watermark
    try:
        answer = _lookup(found, asked.timestamp, end_offset)
    except StorageError:
        return ListOffsetsPartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
    if answer is not None:
        offset, timestamp, epoch = answer
        return ListOffsetsPartitionResponse(index, 0, timestamp, offset, epoch)
    if not found.knows_what_is_committed:
        return ListOffsetsPartitionResponse(index, not_available)
    if asked.timestamp == LATEST:
        return ListOffsetsPartitionResponse(index, 0, -1, end_offset, found.leader_epoch)
    return ListOffsetsPartitionResponse(index, 0, -1, -1, -1)


def _lookup(partition: Partition, timestamp: int, end_offset: int) -> tuple[int, int, int] | None:
    """Offset, timestamp and epoch; None for the end, and for what is not found before it."""
    log = partition.log
    if timestamp == LATEST:
        return None
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1, log.leader_epoch_for(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1, -1
    if timestamp == MAX_TIMESTAMP:
        found = log.reader.offset_of_max_timestamp()
    else:
        found = log.reader.offset_for_timestamp(timestamp)
    if found is None or found.offset >= end_offset:
        return None
    return found.offset, found.timestamp, found.leader_epoch

"""DeleteRecords, versions 0-2: move the start of a partition's log; -1 means up to its end.

The end is that of what is committed. The answer comes when the followers that live, are in sync or
are eligible leaders have done the same, so that a new leader does not bring the records back.
"""

from asyncio import AbstractEventLoop, sleep
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import leader_error
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer
from barnabas.log import OffsetOutOfRange, StorageError
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_TO_THE_END = -1
_LOOK_EVERY_S = 0.01
_WEIGHT = 20


class Needs(Protocol):
    """What this handler asks of the node."""

    loop: AbstractEventLoop
    partitions: Partitions


async def handle(
    node: Needs, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse:
    waiting: list[tuple[Partition, DeleteRecordsPartitionResult]] = []
    response = DeleteRecordsResponse()
    slicer = Slicer(context.version)
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            found = node.partitions.find(topic.name, asked.partition_index)
            result = _delete(node, found, asked)
            results.append(result)
            if slicer.is_due(_WEIGHT):
                await sleep(0)
            if isinstance(found, Partition) and not result.error_code:
                waiting.append((found, result))
        response.topics.append(DeleteRecordsTopicResult(topic.name, results))
    await _followed(node, waiting, request.timeout_ms)
    return response


async def _followed(
    node: Needs, waiting: list[tuple[Partition, DeleteRecordsPartitionResult]], timeout_ms: int
) -> None:
    """Wait for the followers, and say so where they take too long."""
    deadline = node.loop.time() + timeout_ms / 1000
    for partition, result in waiting:
        error = ErrorCode.NONE
        while (leading := partition.leading) is not None:
            if leading.confirm_deletion(result.low_watermark):
                break
            if node.loop.time() >= deadline:
                error = ErrorCode.REQUEST_TIMED_OUT
                break
            await sleep(_LOOK_EVERY_S)
        else:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error:
            result.error_code, result.low_watermark = error, -1


def _delete(
    node: Needs, partition: Partition | ErrorCode, asked: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    index = asked.partition_index
    error = leader_error(partition, -1)
    if isinstance(partition, ErrorCode) or error:
        return DeleteRecordsPartitionResult(index, -1, error)
    if partition.topic in INTERNAL_TOPICS:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if "delete" not in partition.log.config.cleanup_policy:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.POLICY_VIOLATION)
    offset = partition.high_watermark if asked.offset == _TO_THE_END else asked.offset
    if not 0 <= offset <= partition.high_watermark:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.OFFSET_OUT_OF_RANGE)
    try:
        job = partition.delete_records_before(offset)
    except OffsetOutOfRange:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.OFFSET_OUT_OF_RANGE)
    except StorageError:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.KAFKA_STORAGE_ERROR)
    if job is not None:
        node.partitions.run_later(job)
    return DeleteRecordsPartitionResult(index, partition.log.log_start_offset, 0)

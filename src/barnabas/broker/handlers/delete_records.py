"""DeleteRecords, versions 0-2: move the start of a partition's log; -1 means up to its end.

The end is that of what is committed. The leader answers when it has done so itself; its followers
do the same as soon as they hear of it.
"""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.leadership import leader_error
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition
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


def handle(node: Node, request: DeleteRecordsRequest, _: RequestContext) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [
                    _delete(node, node.partitions.find(topic.name, asked.partition_index), asked)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _delete(
    node: Node, partition: Partition | ErrorCode, asked: DeleteRecordsPartition
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
        job = partition.log.delete_records_before(offset)
    except OffsetOutOfRange:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.OFFSET_OUT_OF_RANGE)
    except StorageError:
        return DeleteRecordsPartitionResult(index, -1, ErrorCode.KAFKA_STORAGE_ERROR)
    if job is not None:
        node.partitions.run_later(job)
    return DeleteRecordsPartitionResult(index, partition.log.log_start_offset, 0)

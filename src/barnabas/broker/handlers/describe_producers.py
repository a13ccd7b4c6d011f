"""DescribeProducers, version 0: who writes to a partition, and what transactions go on in it.

Every replica answers for itself, so that those of the followers can be compared. Producers that
have been idle for `producer.id.expiration.ms` are forgotten and not listed.
"""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(
    node: Node, request: DescribeProducersRequest, _: RequestContext
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name, [_answer(node, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _answer(node: Node, topic: str, index: int) -> PartitionResponse:
    found = node.partitions.find(topic, index)
    if isinstance(found, ErrorCode):
        return PartitionResponse(index, found)
    try:
        producers = found.log.producers
    except StorageError as error:
        return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR, str(error))
    return PartitionResponse(
        index,
        active_producers=[
            ProducerState(
                producer_id,
                entry.epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.transaction_offset,
            )
            for producer_id, entry in producers
        ],
    )

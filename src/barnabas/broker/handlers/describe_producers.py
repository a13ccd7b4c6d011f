"""DescribeProducers, version 0: who writes to a partition, and what transactions go on in it.

Every replica answers for itself, so that those of the followers can be compared. Producers that
have been idle for `producer.id.expiration.ms` are forgotten and not listed.
"""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    partitions: Partitions


def handle(
    node: Needs, request: DescribeProducersRequest, context: RequestContext
) -> Slices[DescribeProducersResponse]:
    slicer = Slicer(context.version)
    response = DescribeProducersResponse()
    # Once each, however often one is named: it may have many producers.
    asked: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        asked.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    for name, indexes in asked.items():
        answered = TopicResponse(name)
        for index in indexes:
            part = _answer(node, name, index)
            answered.partitions.append(slicer.part(part))
            if slicer.is_due(2 + len(part.active_producers)):
                yield
        response.topics.append(answered)
    return response


def _answer(node: Needs, topic: str, index: int) -> PartitionResponse:
    found = node.partitions.find(topic, index)
    if isinstance(found, ErrorCode):
        return PartitionResponse(index, found)
    try:
        producers = found.log.producer_state.table
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

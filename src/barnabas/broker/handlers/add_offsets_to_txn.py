"""AddOffsetsToTxn, versions 0-4: where a group keeps its offsets becomes part of a transaction."""

from typing import Protocol

from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.handlers import transaction_shards
from barnabas.broker.handlers.transaction_shards import decided_by_coordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)


class Needs(transaction_shards.Needs, Protocol):
    """What this handler asks of the node."""

    image: MetadataImage
    topic_creation: TopicCreation


async def handle(
    node: Needs, request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    await node.topic_creation.ensure(CONSUMER_OFFSETS)
    topic = node.image.topics.get(CONSUMER_OFFSETS)
    if topic is None:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = (CONSUMER_OFFSETS, partition_of(request.group_id, len(topic.partitions)))
    return await decided_by_coordinator(
        node,
        request.transactional_id,
        lambda error: AddOffsetsToTxnResponse(error_code=error),
        lambda transactions, token, now_ms: transactions.add_offsets(
            request, partition, token=token, api_version=context.version, now_ms=now_ms
        ),
        lambda response: response.error_code,
    )

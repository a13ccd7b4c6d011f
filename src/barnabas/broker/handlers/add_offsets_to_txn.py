"""AddOffsetsToTxn, versions 0-4: where a group keeps its offsets becomes part of a transaction."""

from barnabas.broker.handlers.transaction_shards import decided_by_coordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.metadata.image import CONSUMER_OFFSETS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)


async def handle(
    node: Node, request: AddOffsetsToTxnRequest, context: RequestContext
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

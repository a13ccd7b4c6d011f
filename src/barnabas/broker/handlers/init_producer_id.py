"""InitProducerId, versions 0-6, for idempotent producers. Transactional ids are refused."""

from barnabas.broker.controller_calls import ControllerUnavailable
from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_MAX_EPOCH = 32767


async def handle(
    node: Node, request: InitProducerIdRequest, _: RequestContext
) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return InitProducerIdResponse(
            error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, producer_epoch=-1
        )
    if request.producer_id >= 0 and 0 <= request.producer_epoch < _MAX_EPOCH - 1:
        # The producer goes on under its id after an error; a new epoch starts new sequences.
        return InitProducerIdResponse(
            producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
        )
    try:
        producer_id = await node.producer_ids.next()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    except ControllerUnavailable:
        return InitProducerIdResponse(
            error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1
        )

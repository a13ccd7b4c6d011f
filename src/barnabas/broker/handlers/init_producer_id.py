"""InitProducerId, versions 0-6: an id and an epoch, new or for a transactional id the next ones.

Who wants transactions without a timeout (Enable2Pc) is not authorized to where they are turned off;
keeping one that goes on (KeepPreparedTxn) is allowed everywhere.
"""

from typing import Protocol

from barnabas.broker.control.controller_calls import ControllerUnavailable
from barnabas.broker.control.producer_ids import ProducerIds, TooManyProducers
from barnabas.broker.handlers import transaction_shards
from barnabas.broker.handlers.transaction_shards import decided_by_coordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.settings.config import BrokerConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_MAX_EPOCH = 32767


class Needs(transaction_shards.Needs, Protocol):
    """What this handler asks of the node."""

    config: BrokerConfig
    producer_ids: ProducerIds


async def handle(
    node: Needs, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    try:
        if request.transactional_id is not None:
            return await _transactional(node, request, request.transactional_id, context)
        return await _idempotent(node, request)
    except ControllerUnavailable:
        return _refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    except TooManyProducers:  # all clients ask again after this error
        return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


async def _idempotent(node: Needs, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.producer_id >= 0 and 0 <= request.producer_epoch < _MAX_EPOCH - 1:
        # The producer goes on under its id after an error; a new epoch starts new sequences.
        return InitProducerIdResponse(
            producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
        )
    return InitProducerIdResponse(producer_id=await node.producer_ids.next(), producer_epoch=0)


async def _transactional(
    node: Needs, request: InitProducerIdRequest, transactional_id: str, context: RequestContext
) -> InitProducerIdResponse:
    if request.enable2_pc and not node.config.transactions.two_phase_commit_enable:
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    await node.producer_ids.ensure_available()
    return await decided_by_coordinator(
        node,
        transactional_id,
        _refused,
        lambda transactions, token, now_ms: transactions.init_producer_id(
            request, token=token, api_version=context.version, now_ms=now_ms
        ),
        lambda response: response.error_code,
    )


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_epoch=-1)

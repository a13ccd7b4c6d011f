"""ListTransactions, versions 0-2: the transactions that this node coordinates."""

from typing import Protocol

from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    transactions: TransactionCoordinator


def handle(
    node: Needs, request: ListTransactionsRequest, _: RequestContext
) -> ListTransactionsResponse:
    return list_here(node, request)


def list_here(node: Needs, request: ListTransactionsRequest) -> ListTransactionsResponse:
    response = ListTransactionsResponse()
    for shard in node.transactions.shards:
        if shard.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ListTransactionsResponse(error_code=shard.error)
        if shard.error is ErrorCode.NONE:
            found = shard.transactions.list_transactions(request, now_ms=shard.now_ms())
            if found.error_code:
                return found
            response.transaction_states += found.transaction_states
            response.unknown_state_filters = found.unknown_state_filters
    return response

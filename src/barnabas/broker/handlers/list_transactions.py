"""ListTransactions, versions 0-2: the transactions that this node coordinates."""

from typing import Protocol

from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.regex import InvalidPattern
from barnabas.transactions.admin import TransactionFilter
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
    # A node without a shard checks the filters too.
    try:
        wanted = TransactionFilter(request)
    except InvalidPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    response = ListTransactionsResponse(unknown_state_filters=wanted.unknown_states)
    for shard in node.transactions.shards:
        if shard.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ListTransactionsResponse(error_code=shard.error)
        if shard.error is ErrorCode.NONE:
            now_ms = shard.now_ms()
            response.transaction_states += shard.transactions.list_transactions(
                wanted, now_ms=now_ms
            )
    return response

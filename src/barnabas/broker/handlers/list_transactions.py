"""ListTransactions, versions 0-2: the transactions that this node looks after."""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def handle(
    node: Node, request: ListTransactionsRequest, _: RequestContext
) -> ListTransactionsResponse:
    return list_here(node, request)


def list_here(node: Node, request: ListTransactionsRequest) -> ListTransactionsResponse:
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

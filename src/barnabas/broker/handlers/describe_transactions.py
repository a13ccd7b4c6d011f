"""DescribeTransactions, version 0: how transactions stand that this node looks after."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


def handle(
    node: Node, request: DescribeTransactionsRequest, _: RequestContext
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(node, each) for each in request.transactional_ids]
    )


def _describe(node: Node, transactional_id: str) -> TransactionState:
    shard = node.transactions.find(transactional_id)
    if isinstance(shard, ErrorCode):
        return TransactionState(error_code=shard, transactional_id=transactional_id)
    return shard.transactions.describe(transactional_id)

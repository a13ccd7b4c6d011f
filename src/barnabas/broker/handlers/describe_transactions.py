"""DescribeTransactions, version 0: the state of transactions that this node coordinates.

Topics that the client may not describe are left out.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    transactions: TransactionCoordinator


class HandlerNeeds(Needs, Protocol):
    authorization: Authorization


def handle(
    node: HandlerNeeds, request: DescribeTransactionsRequest, context: RequestContext
) -> Slices[DescribeTransactionsResponse]:
    # Once each, however often one is named: it may have many partitions.
    asked = dict.fromkeys(request.transactional_ids)
    access = node.authorization.of(context.connection, "DescribeTransactions")

    def describe(transactional_id: str) -> TransactionState:
        state = describe_here(node, transactional_id)
        if not access.is_full:
            state.topics = [
                topic for topic in state.topics if access.topic(AclOperation.DESCRIBE, topic.topic)
            ]
        return state

    states = yield from Slicer(context.version).each(asked, describe, weight=_weight)
    return DescribeTransactionsResponse(transaction_states=states)


def _weight(state: TransactionState) -> int:
    """With its partitions, of which there may be thousands."""
    return 10 + sum(1 + len(topic.partitions) for topic in state.topics)


def describe_here(node: Needs, transactional_id: str) -> TransactionState:
    shard = node.transactions.find(transactional_id)
    if isinstance(shard, ErrorCode):
        return TransactionState(error_code=shard, transactional_id=transactional_id)
    return shard.transactions.describe(transactional_id)

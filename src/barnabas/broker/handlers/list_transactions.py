"""ListTransactions, versions 0-2: the transactions that this node coordinates.

Needs DESCRIBE on each transactional id that is listed.
"""

from collections.abc import Callable
from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.regex import InvalidPattern
from barnabas.transactions.admin import TransactionFilter
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


class ListingNeeds(Protocol):
    """What listing asks of the node."""

    transactions: TransactionCoordinator


class Needs(ListingNeeds, Protocol):
    """What this handler asks of the node."""

    authorization: Authorization


def handle(
    node: Needs, request: ListTransactionsRequest, context: RequestContext
) -> Slices[ListTransactionsResponse]:
    access = node.authorization.of(context.connection, "ListTransactions")

    def may_see(transactional_id: str) -> bool:
        return access.transactional_id(AclOperation.DESCRIBE, transactional_id, log=False)

    return list_here(node, request, Slicer(context.version), may_see)


def list_here(
    node: ListingNeeds,
    request: ListTransactionsRequest,
    slicer: Slicer,
    may_see: Callable[[str], bool] = lambda _: True,
) -> Slices[ListTransactionsResponse]:
    # A node without a shard checks the filters too.
    try:
        wanted = TransactionFilter(request)
    except InvalidPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    response = ListTransactionsResponse(unknown_state_filters=wanted.unknown_states)
    for shard in tuple(node.transactions.shards):
        if shard.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ListTransactionsResponse(error_code=shard.error)
        if shard.error is not ErrorCode.NONE:
            continue
        for listed in shard.transactions.listing(wanted, now_ms=shard.now_ms()):
            if listed is not None and may_see(listed.transactional_id):
                response.transaction_states.append(slicer.part(listed))
            if slicer.is_due():
                yield
    return response

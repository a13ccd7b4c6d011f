"""What handlers of transactions share: reaching the shard of a transactional id.

A transaction has ended once that is decided, but the next one can begin only when all its markers
are written. A client that gets an error for that retries after 20 ms or more, so the request waits
instead for the few milliseconds that it takes.
"""

from asyncio import AbstractEventLoop, Future, shield, wait_for
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.coordinator.transaction_coordinator_shard import TransactionCoordinatorShard
from barnabas.transactions import TransactionDecision, TransactionShard
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ResponseT = TypeVar("ResponseT", bound=Response)

_PATIENCE_S = 0.5


class Needs(Protocol):
    """What this handler asks of the node."""

    loop: AbstractEventLoop
    transactions: TransactionCoordinator


async def decided_by_coordinator(
    node: Needs,
    transactional_id: str,
    failed: Callable[[ErrorCode], ResponseT],
    decide: Callable[[TransactionShard, object, int], TransactionDecision],
    error_of: Callable[[ResponseT], int],
) -> ResponseT:
    """Let the transaction's shard decide, given a token and the time; returns its response.

    `failed` makes the response for when the transaction can't be served here.
    """
    if not transactional_id:
        return failed(ErrorCode.INVALID_REQUEST)
    deadline = node.loop.time() + _PATIENCE_S
    while True:
        shard = node.transactions.find(transactional_id)
        if isinstance(shard, ErrorCode):
            return failed(shard)
        progress = shard.progress()
        response: ResponseT = await _decided(shard, decide)
        left = deadline - node.loop.time()
        if error_of(response) != ErrorCode.CONCURRENT_TRANSACTIONS or left <= 0:
            return response
        with suppress(TimeoutError):
            await wait_for(shield(progress), left)


def _decided(
    shard: TransactionCoordinatorShard,
    decide: Callable[[TransactionShard, object, int], TransactionDecision],
) -> "Future[Any]":
    return shard.decide(lambda token: decide(shard.transactions, token, shard.now_ms()))

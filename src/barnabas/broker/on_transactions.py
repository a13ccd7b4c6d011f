"""What handlers of transactions share: reaching the shard of a transactional id."""

from asyncio import Future
from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.broker.node import Node
from barnabas.transactions import TransactionDecision, TransactionShard
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ResponseT = TypeVar("ResponseT", bound=Response)


def decided_by_coordinator(
    node: Node,
    transactional_id: str,
    failed: Callable[[ErrorCode], ResponseT],
    decide: Callable[[TransactionShard, object, int], TransactionDecision],
) -> "ResponseT | Future[Any]":
    """Have the transaction's shard decide, given a token and the time, and answer when it does.

    `failed` makes the response for when the transaction can't be served here.
    """
    shard = node.transactions.find(transactional_id)
    if isinstance(shard, ErrorCode):
        return failed(shard)
    return shard.decide(lambda token: decide(shard.transactions, token, shard.now_ms()))

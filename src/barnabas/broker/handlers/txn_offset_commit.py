"""TxnOffsetCommit, versions 0-5: commit a group's offsets if a transaction is committed.

The offsets are written for the producer, into the partition of `__consumer_offsets` that keeps the
group. That becomes part of the transaction here from version 5 on; before, the client has made it
so (AddOffsetsToTxn), and the transaction's coordinator is asked whether it did. While that one
can't be asked, the client gets an error that makes it retry here (COORDINATOR_LOAD_IN_PROGRESS):
this node is the right one for the group, and all clients know that answer.
"""

from asyncio import AbstractEventLoop, Future
from typing import Any, Protocol

from barnabas.broker.coordinator.transaction_verification import (
    UNAVAILABLE,
    TransactionVerification,
)
from barnabas.broker.handlers import group_shards
from barnabas.broker.handlers.group_shards import partition_exists
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_KNOWS_ABORTABLE = 4
_ADDS = 5


class Needs(group_shards.Needs, Protocol):
    """What this handler asks of the node."""

    loop: AbstractEventLoop
    transaction_verification: TransactionVerification


def handle(
    node: Needs, request: TxnOffsetCommitRequest, context: RequestContext
) -> "TxnOffsetCommitResponse | Future[Any]":
    found = node.groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        return _failed(request, found)
    shard = found
    answer: Future[Any] = node.loop.create_future()

    def check(topic: str, index: int) -> ErrorCode:
        known = partition_exists(node, topic, index)
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def verified(error: ErrorCode) -> None:
        error = _told(error, context.version) or shard.error
        if error is ErrorCode.NONE:
            shard.decide(
                lambda token: shard.groups.txn_offset_commit(
                    request, token=token, now_ms=shard.now_ms(), check_partition=check
                ),
                answer,
            )
        elif not answer.done():
            answer.set_result(_failed(request, error))

    node.transaction_verification.when_verified(
        shard.partition,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        adds=context.version >= _ADDS,
        done=verified,
    )
    return answer


def _told(error: ErrorCode, version: int) -> ErrorCode:
    """The error code that a client of that version understands."""
    if error in UNAVAILABLE:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return ErrorCode.NOT_COORDINATOR
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _KNOWS_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return error


def _failed(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(p.partition_index, error)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )

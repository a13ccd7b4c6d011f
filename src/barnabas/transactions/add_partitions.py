"""AddPartitionsToTxn and AddOffsetsToTxn: the partitions of a transaction.

A partition is part of the transaction before anything is written to it, so the coordinator knows
where markers belong when the transaction ends. Classic producers add partitions themselves, and
partition leaders verify that they did; for newer producers, leaders and group coordinators add the
partitions that they are about to write to.
"""

from collections.abc import Callable, Collection

from barnabas.transactions.decision import TopicPartition, TransactionDecision
from barnabas.transactions.identity_check import check_identity, in_version
from barnabas.transactions.image import CLASSIC, EPOCH_BUMPED, Identity, TransactionImage
from barnabas.transactions.records import partitions_by_topic
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

_LAST_CLASSIC_ADD_VERSION = 3
_ABORTABLE_FROM_VERSION = 5
"""Older versions do not have TRANSACTION_ABORTABLE."""


def add_partitions(
    transaction: Transaction | None,
    transactional_id: str,
    identity: Identity,
    partitions: Collection[TopicPartition],
    token: object,
    api_version: int,
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    version = CLASSIC if api_version <= _LAST_CLASSIC_ADD_VERSION else EPOCH_BUMPED

    def answer(error: ErrorCode) -> AddPartitionsToTxnResponse:
        return _result(transactional_id, partitions, lambda _: error, api_version)

    error = _add(
        transaction, transactional_id, identity, frozenset(partitions), version, decision, now_ms
    )
    if error is None:
        decision.hold(token, committed=answer(ErrorCode.NONE), failed=answer)
    else:
        decision.reply(token, answer(error))


def add_offsets(
    transaction: Transaction | None,
    request: AddOffsetsToTxnRequest,
    offsets_partition: TopicPartition,
    token: object,
    api_version: int,
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    def answer(error: ErrorCode) -> AddOffsetsToTxnResponse:
        error = in_version(error, AddOffsetsToTxnResponse.API_KEY, api_version)
        return AddOffsetsToTxnResponse(error_code=error)

    identity = request.producer_id, request.producer_epoch
    added = frozenset((offsets_partition,))
    error = _add(transaction, request.transactional_id, identity, added, CLASSIC, decision, now_ms)
    if error is None:
        decision.hold(token, committed=answer(ErrorCode.NONE), failed=answer)
    else:
        decision.reply(token, answer(error))


def _add(
    transaction: Transaction | None,
    transactional_id: str,
    identity: Identity,
    partitions: frozenset[TopicPartition],
    client_transaction_version: int,
    decision: TransactionDecision,
    now_ms: int,
) -> ErrorCode | None:
    """The error to reply with at once; None if a record was added to the decision."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if transaction is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    image = transaction.image
    if image is None or transaction.is_busy:
        # Before the identity is checked: a producer whose epochs are exhausted already has the next
        # producer id, which becomes the current one when the end is complete.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    error = _check_writer(image, identity)
    if error is not ErrorCode.NONE:
        return error
    if image.state is TxnState.ONGOING and partitions <= image.partitions:
        return ErrorCode.NONE
    following = image.with_partitions(partitions, client_transaction_version, now_ms)
    transaction.propose(following, decision)
    return None


def verify(
    transaction: Transaction | None,
    transactional_id: str,
    identity: Identity,
    partitions: Collection[TopicPartition],
    token: object,
    api_version: int,
    decision: TransactionDecision,
) -> None:
    """Reply which of the partitions may be written to.

    A pending change is ignored: if it ends the transaction, a marker will follow the write, and the
    leader of the partition notices if the marker came first.
    """
    error = ErrorCode.NONE
    members: frozenset[TopicPartition] = frozenset()
    if not transactional_id:
        error = ErrorCode.INVALID_REQUEST
    elif transaction is None or transaction.image is None:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    else:
        error = _check_writer(transaction.image, identity)
        if error is ErrorCode.NONE and transaction.image.state.is_prepared:
            error = ErrorCode.CONCURRENT_TRANSACTIONS
        members = transaction.image.partitions
    not_added = (
        ErrorCode.TRANSACTION_ABORTABLE
        if api_version >= _ABORTABLE_FROM_VERSION
        else ErrorCode.INVALID_TXN_STATE
    )

    def of(partition: TopicPartition) -> ErrorCode:
        return error or (ErrorCode.NONE if partition in members else not_added)

    decision.reply(token, _result(transactional_id, partitions, of, api_version))


def _check_writer(image: TransactionImage, identity: Identity) -> ErrorCode:
    """Whether it may write: not while it has to end the transaction of a former instance."""
    error = check_identity(image, identity)
    if error is ErrorCode.NONE and image.is_kept:
        return ErrorCode.INVALID_TXN_STATE
    return error


def _result(
    transactional_id: str,
    partitions: Collection[TopicPartition],
    error_of: Callable[[TopicPartition], ErrorCode],
    api_version: int,
) -> AddPartitionsToTxnResponse:
    api_key = AddPartitionsToTxnResponse.API_KEY
    topics = [
        AddPartitionsToTxnTopicResult(
            topic,
            [
                AddPartitionsToTxnPartitionResult(
                    index, in_version(error_of((topic, index)), api_key, api_version)
                )
                for index in indexes
            ],
        )
        for topic, indexes in partitions_by_topic(frozenset(partitions)).items()
    ]
    return AddPartitionsToTxnResponse(
        results_by_transaction=[AddPartitionsToTxnResult(transactional_id, topics)]
    )

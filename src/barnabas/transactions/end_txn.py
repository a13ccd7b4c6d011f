"""EndTxn, and aborts by the coordinator: after a timeout, or for a new instance of the producer.

The end is decided when its record, PrepareCommit or PrepareAbort, is committed; then the client
is answered, and the markers are written.

In the classic generation the epoch stays the same, so a retry can't be distinguished from the end
of another transaction with the same outcome: an end that is already done succeeds.

From version 5 on every end increments the epoch, and the response has the new one. A retry comes
with the previous epoch, and gets the same response again:

```
                     abort                        commit
                     epoch before    current      epoch before    current
    Empty            fenced          ends         fenced          INVALID_TXN_STATE
    CompleteAbort    as it was       ends         wrong           wrong
    CompleteCommit   wrong           ends         as it was       wrong
```

Aborting a transaction that was never begun is valid there: the producer does not know whether a
write that would begin it is still in flight, and the new epoch fences that write.

Stricter than Kafka: the previous epoch is accepted only if an end incremented it. If a new instance
did, the former instance is fenced and gets no valid epoch again.
"""

from collections.abc import Callable

from barnabas.transactions.decision import TransactionDecision
from barnabas.transactions.identity_check import check_identity, in_version
from barnabas.transactions.image import (
    CLASSIC,
    EPOCH_BUMPED,
    MAX_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Identity,
    TransactionImage,
)
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

_LAST_CLASSIC_VERSION = 4

_NO_IDENTITY: Identity = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def end_txn(
    transaction: Transaction | None,
    request: EndTxnRequest,
    token: object,
    api_version: int,
    new_producer_id: Callable[[], int | None],
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    version = CLASSIC if api_version <= _LAST_CLASSIC_VERSION else EPOCH_BUMPED

    def answer(error: ErrorCode, identity: Identity = _NO_IDENTITY) -> EndTxnResponse:
        error = in_version(error, EndTxnResponse.API_KEY, api_version)
        producer_id, epoch = _NO_IDENTITY if version == CLASSIC or error else identity
        return EndTxnResponse(error_code=error, producer_id=producer_id, producer_epoch=epoch)

    if not request.transactional_id:
        decision.reply(token, answer(ErrorCode.INVALID_REQUEST))
        return
    if transaction is None or transaction.image is None:
        decision.reply(token, answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        return
    image = transaction.image
    check = _check_classic if version == CLASSIC else _check_bumped
    error = check(transaction, image, request)
    if error is None:
        error = _prepare(
            transaction, image, request.committed, version, new_producer_id, decision, now_ms
        )
        if error is ErrorCode.NONE:
            assert transaction.pending is not None
            identity = transaction.pending.identity_given_out
            committed = answer(ErrorCode.NONE, identity)
            decision.hold(token, committed=committed, failed=answer)
            return
    decision.reply(token, answer(error, image.identity))


def abort_and_fence(
    transaction: Transaction,
    new_producer_id: Callable[[], int | None],
    decision: TransactionDecision,
    now_ms: int,
) -> ErrorCode:
    """Abort the ongoing transaction with the next epoch, which no producer has."""
    assert transaction.image is not None
    return _prepare(
        transaction, transaction.image, False, EPOCH_BUMPED, new_producer_id, decision, now_ms
    )


def _prepare(
    transaction: Transaction,
    image: TransactionImage,
    committed: bool,
    version: int,
    new_producer_id: Callable[[], int | None],
    decision: TransactionDecision,
    now_ms: int,
) -> ErrorCode:
    producer_id: int | None = None
    if version == EPOCH_BUMPED and image.is_exhausted:
        producer_id = new_producer_id()
        if producer_id is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
    following = image.prepared(
        committed=committed,
        client_transaction_version=version,
        new_producer_id=producer_id,
        now_ms=now_ms,
    )
    transaction.propose(following, decision)
    return ErrorCode.NONE


def _check_classic(
    transaction: Transaction, image: TransactionImage, request: EndTxnRequest
) -> ErrorCode | None:
    """The error to reply with at once; None if the transaction is to be ended."""
    error = check_identity(image, (request.producer_id, request.producer_epoch))
    if error is not ErrorCode.NONE:
        return error
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if image.state is TxnState.ONGOING:
        return None
    if image.state is _complete(request.committed):
        return ErrorCode.NONE
    return ErrorCode.INVALID_TXN_STATE


def _check_bumped(
    transaction: Transaction, image: TransactionImage, request: EndTxnRequest
) -> ErrorCode | None:
    """The error to reply with at once; None if the transaction is to be ended."""
    if transaction.is_busy:
        # Before the identity is checked: see `add_partitions`.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    identity = request.producer_id, request.producer_epoch
    if image.state.is_complete and _is_previous_identity(image, identity):
        if image.state is _complete(request.committed):
            return ErrorCode.NONE
        return ErrorCode.INVALID_TXN_STATE
    error = check_identity(image, identity)
    if error is not ErrorCode.NONE:
        return error
    if image.state is TxnState.ONGOING or not request.committed:
        return None
    return ErrorCode.INVALID_TXN_STATE


def _is_previous_identity(image: TransactionImage, identity: Identity) -> bool:
    """Whether the end of the last transaction replaced this identity."""
    if image.client_transaction_version != EPOCH_BUMPED:
        return False
    if image.producer_epoch == 0:
        return identity == (image.previous_producer_id, MAX_PRODUCER_EPOCH - 1)
    return identity == (image.producer_id, image.producer_epoch - 1)


def _complete(committed: bool) -> TxnState:
    return TxnState.COMPLETE_COMMIT if committed else TxnState.COMPLETE_ABORT

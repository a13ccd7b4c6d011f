"""InitProducerId with a transactional id: the newest instance owns it, all others are fenced.

An instance that starts has no epoch yet: it gets the next one. An instance that continues after an
error sends its epoch, and is fenced if that is not the current one, so it can't fence a newer
instance. If it sends the previous epoch, the response to its last request was lost, and it gets
that response again.

An ongoing transaction is aborted first; the client gets CONCURRENT_TRANSACTIONS and retries. For an
instance that continues, Kafka checks only the producer id; here the epoch is checked as well,
because otherwise a fenced instance could abort the transaction of a newer one.

A transaction can be part of a two-phase commit, whose outcome an external coordinator decides. With
Enable2Pc the transactions of an instance have no timeout. With KeepPreparedTxn an ongoing
transaction is not aborted: the instance becomes its owner, with a new epoch that fences the
instance that wrote it, gets its identity in the response, and ends it. Until then it can't write.

A kept transaction gets the timeout that its new owner requests, or none, and the timeout restarts.
Whether Enable2Pc is allowed is not checked here.
"""

from collections.abc import Callable

from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import TransactionDecision
from barnabas.transactions.end_txn import abort_and_fence
from barnabas.transactions.identity_check import in_version
from barnabas.transactions.image import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    Identity,
    TransactionImage,
    is_exhausted,
)
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NewProducerId = Callable[[], int | None]


def check_request(request: InitProducerIdRequest, config: TransactionConfig) -> ErrorCode:
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return ErrorCode.INVALID_REQUEST
    asked_for_ms, longest_ms = request.transaction_timeout_ms, config.transaction_max_timeout_ms
    if not request.enable2_pc and not 0 < asked_for_ms <= longest_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def refused(error: ErrorCode, api_version: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=in_version(error, InitProducerIdResponse.API_KEY, api_version),
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
    )


def init_producer_id(
    transaction: Transaction,
    request: InitProducerIdRequest,
    token: object,
    api_version: int,
    new_producer_id: NewProducerId,
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    outcome = _step(transaction, request, new_producer_id, decision, now_ms)
    if isinstance(outcome, ErrorCode):
        decision.reply(token, refused(outcome, api_version))
        return
    answer = refused(ErrorCode.CONCURRENT_TRANSACTIONS, api_version)
    if not outcome.state.is_prepared:
        producer_id, epoch = outcome.identity_given_out
        answer = InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)
    if outcome.is_kept:
        answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch = outcome.identity
    decision.hold(token, committed=answer, failed=lambda error: refused(error, api_version))


def _step(
    transaction: Transaction,
    request: InitProducerIdRequest,
    new_producer_id: NewProducerId,
    decision: TransactionDecision,
    now_ms: int,
) -> TransactionImage | ErrorCode:
    """The image that was proposed, or why none was."""
    expected: Identity | None = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = request.producer_id, request.producer_epoch
    image = transaction.image
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if image is not None and image.state is TxnState.ONGOING:
        if expected not in (None, image.identity_given_out):
            return ErrorCode.PRODUCER_FENCED
        if request.keep_prepared_txn:
            return _keep(transaction, image, request, new_producer_id, decision, now_ms)
        error = abort_and_fence(transaction, new_producer_id, decision, now_ms)
        return transaction.pending or error
    following = _next_image(image, expected, request, new_producer_id, now_ms)
    if isinstance(following, TransactionImage):
        transaction.propose(following, decision)
    return following


def _keep(
    transaction: Transaction,
    image: TransactionImage,
    request: InitProducerIdRequest,
    new_producer_id: NewProducerId,
    decision: TransactionDecision,
    now_ms: int,
) -> TransactionImage | ErrorCode:
    producer_id, epoch = image.identity_given_out
    owner: Identity = (producer_id, epoch + 1)
    if is_exhausted(epoch):
        another = new_producer_id()
        if another is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        owner = (another, 0)
    following = image.kept(owner, timeout_ms(request), now_ms)
    transaction.propose(following, decision)
    return following


def timeout_ms(request: InitProducerIdRequest) -> int:
    """The timeout of its transactions; the value for "none" can't be requested as a number."""
    if request.enable2_pc:
        return NO_TIMEOUT_MS
    return min(request.transaction_timeout_ms, NO_TIMEOUT_MS - 1)


def _next_image(
    image: TransactionImage | None,
    expected: Identity | None,
    request: InitProducerIdRequest,
    new_producer_id: NewProducerId,
    now_ms: int,
) -> TransactionImage | ErrorCode:
    """The next image while no transaction is ongoing, or why there is none."""
    duration_ms = timeout_ms(request)
    if image is None:
        producer_id = new_producer_id()
        if producer_id is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return TransactionImage(producer_id, 0, duration_ms, TxnState.EMPTY, now_ms)
    if expected is not None and _has_previous_identity(image, expected):
        return image.with_identity(image.identity, expected, duration_ms, now_ms)
    if expected not in (None, image.identity):
        return ErrorCode.PRODUCER_FENCED
    if not image.is_exhausted:
        identity = image.producer_id, image.producer_epoch + 1
        return image.with_identity(identity, expected, duration_ms, now_ms)
    producer_id = new_producer_id()
    if producer_id is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return image.with_identity((producer_id, 0), expected, duration_ms, now_ms)


def _has_previous_identity(image: TransactionImage, expected: Identity) -> bool:
    producer_id, epoch = expected
    if epoch != image.last_producer_epoch:
        return False
    if image.producer_epoch == 0:
        return producer_id == image.previous_producer_id and is_exhausted(epoch)
    return producer_id == image.producer_id

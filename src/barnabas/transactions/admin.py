"""DescribeTransactions and ListTransactions: what is persisted, without pending changes."""

from collections.abc import Iterable

from barnabas.transactions.id_pattern import IdPattern, InvalidPattern
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import partitions_by_topic
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import TopicData
from barnabas.wire.messages.describe_transactions import TransactionState as DescribedTransaction
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from barnabas.wire.messages.list_transactions import TransactionState as ListedTransaction


def describe(transactional_id: str, transaction: Transaction | None) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(ErrorCode.INVALID_REQUEST, transactional_id)
    image = None if transaction is None else transaction.image
    if image is None:
        return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=image.state.label,
        transaction_timeout_ms=image.timeout_ms,
        transaction_start_time_ms=image.start_ms,
        producer_id=image.producer_id,
        producer_epoch=image.producer_epoch,
        topics=[
            TopicData(topic, indexes)
            for topic, indexes in partitions_by_topic(image.partitions).items()
        ],
    )


def list_transactions(
    transactions: Iterable[Transaction], request: ListTransactionsRequest, now_ms: int
) -> ListTransactionsResponse:
    """The transactions that match all filters; unknown states are listed in the response."""
    labels = {state.label for state in TxnState}
    unknown = [name for name in request.state_filters if name not in labels]
    try:
        pattern = IdPattern(request.transactional_id_pattern or ".*")
    except InvalidPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    response = ListTransactionsResponse(unknown_state_filters=unknown)
    for transaction in transactions:
        image = transaction.image
        if image is None:
            continue
        if request.state_filters and image.state.label not in request.state_filters:
            continue
        if request.producer_id_filters and image.producer_id not in request.producer_id_filters:
            continue
        if not _lasts(image, request.duration_filter, now_ms):
            continue
        name = transaction.transactional_id
        if request.transactional_id_pattern and not pattern.matches(name):
            continue
        response.transaction_states.append(
            ListedTransaction(name, image.producer_id, image.state.label)
        )
    return response


def _lasts(image: TransactionImage, duration_filter_ms: int, now_ms: int) -> bool:
    """Whether a transaction is ongoing for longer than that; a negative duration matches all."""
    if duration_filter_ms < 0:
        return True
    is_running = image.state is TxnState.ONGOING or image.state.is_prepared
    return is_running and now_ms - image.start_ms > duration_filter_ms

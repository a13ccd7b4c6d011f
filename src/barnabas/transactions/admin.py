"""DescribeTransactions and ListTransactions: what is persisted, without pending changes."""

from collections.abc import Iterable

from barnabas.regex import LinearPattern
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import partitions_by_topic
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import TopicData
from barnabas.wire.messages.describe_transactions import TransactionState as DescribedTransaction
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.list_transactions import TransactionState as ListedTransaction

_MAX_STATES = 300
"""Of a pattern, which is matched with all transactional ids of a shard at once."""


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


class TransactionFilter:
    """What a ListTransactions request asks for. It is made once for all shards: a request may have
    as many filters as there are transactions."""

    def __init__(self, request: ListTransactionsRequest) -> None:
        """Raises `InvalidPattern`."""
        labels = {state.label for state in TxnState}
        self.unknown_states = [name for name in request.state_filters if name not in labels]
        self._states = frozenset(request.state_filters)
        self._producer_ids = frozenset(request.producer_id_filters)
        self._duration_ms = request.duration_filter
        wanted = request.transactional_id_pattern
        self._pattern = LinearPattern(wanted, _MAX_STATES) if wanted else None

    def matches(self, transactional_id: str, image: TransactionImage, now_ms: int) -> bool:
        return (
            (not self._states or image.state.label in self._states)
            and (not self._producer_ids or image.producer_id in self._producer_ids)
            and _lasts(image, self._duration_ms, now_ms)
            and (self._pattern is None or self._pattern.matches(transactional_id))
        )


def list_transactions(
    transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int
) -> list[ListedTransaction]:
    """The transactions that match all filters."""
    return [
        ListedTransaction(name, image.producer_id, image.state.label)
        for name, image in ((each.transactional_id, each.image) for each in transactions)
        if image is not None and wanted.matches(name, image, now_ms)
    ]


def _lasts(image: TransactionImage, duration_filter_ms: int, now_ms: int) -> bool:
    """Whether a transaction is ongoing for longer than that; a negative duration matches all."""
    if duration_filter_ms < 0:
        return True
    is_running = image.state is TxnState.ONGOING or image.state.is_prepared
    return is_running and now_ms - image.start_ms > duration_filter_ms

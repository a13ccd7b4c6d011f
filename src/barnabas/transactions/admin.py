"""DescribeTransactions and ListTransactions: what is persisted, without pending changes."""

from collections.abc import Generator, Iterable, Iterator

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
"""Of a pattern, which is matched with all transactional ids."""


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

    def matching(
        self, transactional_id: str, image: TransactionImage, now_ms: int
    ) -> Generator[None, None, bool]:
        """Whether a transaction matches; a long id takes the pattern several steps."""
        if not (
            (not self._states or image.state.label in self._states)
            and (not self._producer_ids or image.producer_id in self._producer_ids)
            and _lasts(image, self._duration_ms, now_ms)
        ):
            return False
        return self._pattern is None or (yield from self._pattern.matching(transactional_id))


def listing(
    transactions: Iterable[Transaction], wanted: TransactionFilter, now_ms: int
) -> Iterator[ListedTransaction | None]:
    """The transactions that match all filters, and None for each step that finds none, so that the
    caller can stop in between. `transactions` must not change meanwhile."""
    for transaction in transactions:
        name, image = transaction.transactional_id, transaction.image
        matches = False
        if image is not None:
            matching = wanted.matching(name, image, now_ms)
            while True:
                try:
                    next(matching)
                except StopIteration as matched:
                    matches = matched.value
                    break
                yield None
        if matches and image is not None:
            yield ListedTransaction(name, image.producer_id, image.state.label)
        else:
            yield None


def _lasts(image: TransactionImage, duration_filter_ms: int, now_ms: int) -> bool:
    """Whether a transaction is ongoing for longer than that; a negative duration matches all."""
    if duration_filter_ms < 0:
        return True
    is_running = image.state is TxnState.ONGOING or image.state.is_prepared
    return is_running and now_ms - image.start_ms > duration_filter_ms

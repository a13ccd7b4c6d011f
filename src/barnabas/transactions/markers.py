"""The markers that tell every partition how a transaction ended, and its completion.

The end is persisted before markers are sent. So a coordinator sends all of them, whether it decided
the end itself or loaded it; a marker that is written twice does no harm.
"""

from collections.abc import Collection

from barnabas.transactions.decision import MarkersToWrite, TopicPartition, TransactionDecision
from barnabas.transactions.image import Identity
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction


def send_markers(transaction: Transaction, decision: TransactionDecision, now_ms: int) -> None:
    """The end is persisted: send the markers, or complete it if there are no partitions."""
    image = transaction.image
    assert image is not None
    assert image.state.is_prepared
    if transaction.unmarked:
        transaction.markers = MarkersToWrite(
            transactional_id=transaction.transactional_id,
            producer_id=image.producer_id,
            producer_epoch=image.producer_epoch,
            committed=image.state is TxnState.PREPARE_COMMIT,
            transaction_version=image.client_transaction_version,
            partitions=frozenset(transaction.unmarked),
        )
        decision.markers.append(transaction.markers)
    complete_if_all_written(transaction, decision, now_ms)


def awaits(transaction: Transaction, markers: MarkersToWrite, partition: TopicPartition) -> bool:
    """Whether these markers are still to be written to the partition.

    In the classic generation the markers of two transactions may be equal, so they are compared by
    identity, not by value.
    """
    return transaction.markers is markers and partition in transaction.unmarked


def written(
    transaction: Transaction,
    identity: Identity,
    partitions: Collection[TopicPartition],
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    if transaction.image is not None and transaction.image.identity == identity:
        transaction.unmarked.difference_update(partitions)
        complete_if_all_written(transaction, decision, now_ms)


def topics_deleted(
    transaction: Transaction, names: Collection[str], decision: TransactionDecision, now_ms: int
) -> None:
    gone = {each for each in transaction.unmarked if each[0] in names}
    if gone:
        transaction.unmarked -= gone
        complete_if_all_written(transaction, decision, now_ms)


def complete_if_all_written(
    transaction: Transaction, decision: TransactionDecision, now_ms: int
) -> None:
    image = transaction.image
    if image is None or not image.state.is_prepared or transaction.unmarked:
        return
    if transaction.pending is None:
        transaction.propose(image.completed(now_ms), decision)

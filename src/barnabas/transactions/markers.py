"""Telling every partition how a transaction ended, and completing it when all of them know.

The end is persisted when the markers go out, so a coordinator that comes to know of it, whether
it decided it or loaded it, sends them all; a partition that is told twice does not mind.
"""

from collections.abc import Collection

from barnabas.transactions.decision import MarkersToWrite, TopicPartition, TransactionDecision
from barnabas.transactions.image import Identity
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction


def send_markers(transaction: Transaction, decision: TransactionDecision, now_ms: int) -> None:
    """The end is persisted: tell the partitions, if it has any."""
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
    complete_if_all_know(transaction, decision, now_ms)


def awaits(transaction: Transaction, markers: MarkersToWrite, partition: TopicPartition) -> bool:
    """Whether these very markers are still to be written there.

    In the classic generation the markers of two transactions may be equal in everything, so it
    is asked which they are, not what they say.
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
        complete_if_all_know(transaction, decision, now_ms)


def topics_deleted(
    transaction: Transaction, names: Collection[str], decision: TransactionDecision, now_ms: int
) -> None:
    gone = {each for each in transaction.unmarked if each[0] in names}
    if gone:
        transaction.unmarked -= gone
        complete_if_all_know(transaction, decision, now_ms)


def complete_if_all_know(
    transaction: Transaction, decision: TransactionDecision, now_ms: int
) -> None:
    image = transaction.image
    if image is None or not image.state.is_prepared or transaction.unmarked:
        return
    if transaction.pending is None:
        transaction.propose(image.completed(now_ms), decision)

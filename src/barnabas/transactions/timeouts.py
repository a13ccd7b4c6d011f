"""What the coordinator does when a deadline of a transactional id has passed.

An ongoing transaction that exceeds its timeout is aborted, and its producer fenced; an unused id
expires; and the completion of a transaction that could not be persisted is retried.
"""

from collections.abc import Callable

from barnabas.transactions.decision import TransactionDecision
from barnabas.transactions.end_txn import abort_and_fence
from barnabas.transactions.markers import complete_if_all_written
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode

_COMPARE_AGAIN_MS = 600_000
"""After which it is asked again how far the clock is ahead: it may not have been known."""


def handle_timeout(
    transaction: Transaction,
    new_producer_id: Callable[[], int | None],
    decision: TransactionDecision,
    now_ms: int,
) -> None:
    due_ms = transaction.next_deadline_ms()
    image = transaction.image
    if image is None or due_ms is None or due_ms > now_ms:
        return
    if image.state is TxnState.ONGOING:
        if abort_and_fence(transaction, new_producer_id, decision, now_ms) is not ErrorCode.NONE:
            transaction.retry_later(now_ms)
    elif image.state.is_prepared:
        complete_if_all_written(transaction, decision, now_ms)
    else:
        # Another coordinator may have stamped it: a clock that is ahead must not make it old.
        due_ms = transaction.expires_ms(image) + transaction.config.clock_lead_ms()
        if due_ms > now_ms:
            transaction.not_before_ms = min(due_ms, now_ms + _COMPARE_AGAIN_MS)
        else:
            transaction.propose(image.expired(), decision)

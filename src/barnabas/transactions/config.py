"""Settings of the transaction coordinator, named after Kafka's, all times in milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass

_DAY_MS = 24 * 60 * 60 * 1000


def _no_lead_ms() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    transaction_max_timeout_ms: int = 900_000
    """The longest transaction timeout that a producer may request."""
    transactional_id_expiration_ms: int = 7 * _DAY_MS
    """After how long an unused transactional id expires."""
    max_transactional_ids: int = 10_000
    """Of one partition of the log; each stays in memory until it expires."""
    clock_lead_ms: Callable[[], int] = _no_lead_ms
    """How far the clock here is ahead of others, by which what is stored must not expire."""
    persist_retry_ms: int = 1_000
    """Retry interval for internal changes that could not be persisted.

    These are the completion of a transaction, a timeout, or an expiry.
    """

"""Settings of the transaction coordinator, named after Kafka's, all times in milliseconds."""

from dataclasses import dataclass

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    transaction_max_timeout_ms: int = 900_000
    """The longest time a producer may ask for its transactions."""
    transactional_id_expiration_ms: int = 7 * _DAY_MS
    """After how long a transactional id that nobody uses is forgotten."""
    persist_retry_ms: int = 1_000
    """After how long something nobody waits for, and that could not be persisted, is tried again.

    It is the end of a transaction whose markers are written, a timeout, or an expiry.
    """

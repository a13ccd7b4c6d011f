"""The records of `__transaction_state`, encoded as Kafka encodes them."""


class CorruptTransactionRecord(Exception):  # noqa: N818 - says what the bytes are
    """The bytes are no record of a transaction, or one of a version from the future."""

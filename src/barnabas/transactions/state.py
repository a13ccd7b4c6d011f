"""The states of a transactional id, with the names and numbers Kafka gives them."""

from enum import IntEnum


class TxnState(IntEnum):
    """Where a transactional id stands; the number is what is stored.

    ```
            partitions are added          EndTxn, timeout,          all markers
                                          a new instance            are written
      EMPTY ------------------> ONGOING ----------------> PREPARE_* ----------> COMPLETE_*
        |                         ^                                                |
        |                         '---------------- partitions are added ---------|
        '-----------------------> DEAD <---- nobody used it for a long time -------'
    ```

    A new instance of the producer takes EMPTY and COMPLETE_* back to EMPTY.
    """

    EMPTY = 0
    """It has a producer id and has had no transaction since that was given to it."""

    ONGOING = 1
    """Partitions are part of a transaction."""

    PREPARE_COMMIT = 2
    """It is committed, and nothing can change that; the markers are being written."""

    PREPARE_ABORT = 3
    """It is aborted, likewise."""

    COMPLETE_COMMIT = 4
    """The last transaction was committed, and all of its partitions know."""

    COMPLETE_ABORT = 5
    """The last transaction was aborted, likewise."""

    DEAD = 6
    """Its expiry is decided and not yet persisted. It is never stored."""

    PREPARE_EPOCH_FENCE = 7
    """A new instance has fenced the old one; its transaction is to be aborted. Never stored."""

    @property
    def label(self) -> str:
        """As it is called in ListTransactions and DescribeTransactions."""
        return _LABELS[self]

    @property
    def is_prepared(self) -> bool:
        return self in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)


_LABELS = {
    state: "".join(word.capitalize() for word in state.name.split("_")) for state in TxnState
}

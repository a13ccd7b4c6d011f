"""The states of a transactional id, with the names and numbers Kafka gives them."""

from enum import IntEnum


class TxnState(IntEnum):
    """The state of a transactional id; the number is what is stored.

    ```
            partitions are added          EndTxn, timeout,          all markers
                                          new instance              are written
      EMPTY ------------------> ONGOING ----------------> PREPARE_* ----------> COMPLETE_*
        |                         ^                                                |
        |                         '---------------- partitions are added ---------|
        '-----------------------> DEAD <---- unused for the expiration time ------'
    ```

    A new instance of the producer takes EMPTY and COMPLETE_* back to EMPTY.
    """

    EMPTY = 0
    """It has a producer id, and has had no transaction since it got it."""

    ONGOING = 1
    """A transaction is ongoing and has partitions."""

    PREPARE_COMMIT = 2
    """The commit is decided and final; the markers are being written."""

    PREPARE_ABORT = 3
    """The abort is decided and final; the markers are being written."""

    COMPLETE_COMMIT = 4
    """The last transaction committed, and all markers are written."""

    COMPLETE_ABORT = 5
    """The last transaction aborted, and all markers are written."""

    DEAD = 6
    """Its expiry is decided and not yet persisted. Never stored."""

    PREPARE_EPOCH_FENCE = 7
    """A new instance fenced the old one, whose transaction has to be aborted. Never stored."""

    @property
    def label(self) -> str:
        """Its name in ListTransactions and DescribeTransactions."""
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

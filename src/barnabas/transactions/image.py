"""One transactional id as a record of `__transaction_state` has it, and the images that follow it.

An image is immutable: a decision proposes the next one, which replaces it when its record is
committed and replayed.
"""

from dataclasses import dataclass, replace

from barnabas.transactions.decision import TopicPartition
from barnabas.transactions.state import TxnState

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
MAX_PRODUCER_EPOCH = 2**15 - 1

NO_TIMEOUT_MS = 2**31 - 1
"""The timeout of two-phase commit transactions, which wait for an external decision."""

CLASSIC = 0
"""An instance of the producer has one epoch for all of its transactions."""
EPOCH_BUMPED = 2
"""Every end of a transaction increments the epoch, so a late write can't join the next one."""

Identity = tuple[int, int]
"""A producer id and an epoch."""


@dataclass(frozen=True, slots=True)
class TransactionImage:
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TxnState
    last_update_ms: int
    start_ms: int = -1
    partitions: frozenset[TopicPartition] = frozenset()
    client_transaction_version: int = CLASSIC
    """Of the client that caused this state."""
    previous_producer_id: int = NO_PRODUCER_ID
    """The producer id before the last change, usually the same. In Empty it is the one that the
    same instance had, or none if a new instance began."""
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id after the markers are written; the producer already has it."""
    next_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch of `next_producer_id`; none means 0."""
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """The epoch that the same instance had before this one, until it uses this one. Records have
    no field for it, and need none: it follows from the others (`records`)."""

    @property
    def identity(self) -> Identity:
        return self.producer_id, self.producer_epoch

    @property
    def identity_given_out(self) -> Identity:
        """The identity that the producer has after the last response."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, max(self.next_producer_epoch, 0)
        return self.identity

    @property
    def is_kept(self) -> bool:
        """Whether a former instance began the ongoing transaction: it can only be ended."""
        return self.state is TxnState.ONGOING and self.next_producer_id != NO_PRODUCER_ID

    @property
    def has_timeout(self) -> bool:
        return self.timeout_ms != NO_TIMEOUT_MS

    @property
    def is_exhausted(self) -> bool:
        """Whether no further epoch is available: the last one is reserved for fencing."""
        return is_exhausted(self.identity_given_out[1])

    def with_identity(
        self, identity: Identity, before: Identity | None, timeout_ms: int, now_ms: int
    ) -> "TransactionImage":
        """An instance begins, or continues with a new identity in place of the one `before`."""
        previous_id, last_epoch = before or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        return TransactionImage(
            *identity,
            timeout_ms,
            TxnState.EMPTY,
            now_ms,
            client_transaction_version=self.client_transaction_version,
            previous_producer_id=previous_id,
            last_producer_epoch=last_epoch,
        )

    def with_partitions(
        self, partitions: frozenset[TopicPartition], client_transaction_version: int, now_ms: int
    ) -> "TransactionImage":
        return replace(
            self,
            state=TxnState.ONGOING,
            partitions=self.partitions | partitions,
            start_ms=self.start_ms if self.state is TxnState.ONGOING else now_ms,
            last_update_ms=now_ms,
            client_transaction_version=client_transaction_version,
            previous_producer_id=self.producer_id,
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def kept(self, owner: Identity, timeout_ms: int, now_ms: int) -> "TransactionImage":
        """A new instance becomes the owner of the ongoing transaction, which is not changed."""
        return replace(
            self,
            next_producer_id=owner[0],
            next_producer_epoch=owner[1],
            timeout_ms=timeout_ms,
            last_update_ms=now_ms,
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def prepared(
        self,
        *,
        committed: bool,
        client_transaction_version: int,
        new_producer_id: int | None,
        now_ms: int,
    ) -> "TransactionImage":
        """The end is decided; the producer continues with the new producer id, if given.

        Markers have the producer id and epoch of the transaction, or the next epoch. For a kept
        transaction these belong to the instance that wrote it; the epoch of the instance that ends
        it is incremented as well.
        """
        owner_id, owner_epoch = self.identity_given_out
        epoch, last_epoch = self.producer_epoch, NO_PRODUCER_EPOCH
        next_id, next_epoch = self.next_producer_id, self.next_producer_epoch
        if client_transaction_version == EPOCH_BUMPED:
            epoch, last_epoch = min(epoch + 1, MAX_PRODUCER_EPOCH), owner_epoch
            if self.is_kept:
                next_epoch = owner_epoch + 1
        if new_producer_id is not None:
            next_id, next_epoch = new_producer_id, 0
        return replace(
            self,
            state=TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            start_ms=self.start_ms if self.state is TxnState.ONGOING else now_ms,
            last_update_ms=now_ms,
            client_transaction_version=client_transaction_version,
            previous_producer_id=owner_id,
            next_producer_id=next_id,
            next_producer_epoch=next_epoch,
        )

    def completed(self, now_ms: int) -> "TransactionImage":
        """All partitions have their markers."""
        producer_id, producer_epoch = self.identity_given_out
        commits = self.state is TxnState.PREPARE_COMMIT
        return replace(
            self,
            state=TxnState.COMPLETE_COMMIT if commits else TxnState.COMPLETE_ABORT,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            partitions=frozenset(),
            last_update_ms=now_ms,
            next_producer_id=NO_PRODUCER_ID,
            next_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def expired(self) -> "TransactionImage":
        return replace(self, state=TxnState.DEAD)


def is_exhausted(producer_epoch: int) -> bool:
    return producer_epoch >= MAX_PRODUCER_EPOCH - 1

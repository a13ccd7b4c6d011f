"""The transactions of one partition of `__transaction_state`, for as long as this node leads it."""

from asyncio import AbstractEventLoop
from collections.abc import Collection, Sequence
from typing import Protocol

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.decision import Reply
from barnabas.records.batch import BatchHeader
from barnabas.records.record import Record as StoredRecord
from barnabas.transactions import (
    MarkersToWrite,
    TopicPartition,
    TransactionDecision,
    TransactionShard,
)
from barnabas.transactions.transactions_image import TransactionsImage
from barnabas.wire.errors import ErrorCode


class MarkerWriter(Protocol):
    """Sends markers to the leaders of their partitions, and reports to `written`."""

    def write(self, shard: "TransactionCoordinatorShard", markers: MarkersToWrite) -> None: ...


class TransactionCoordinatorShard(CoordinatorShard[TransactionDecision]):
    def __init__(
        self,
        partition: LeaderPartition,
        transactions: TransactionShard,
        loop: AbstractEventLoop,
        clock: Clock,
        commit_timeout_ms: int,
        markers: MarkerWriter,
    ) -> None:
        super().__init__(partition, loop, clock, commit_timeout_ms)
        self.transactions = transactions
        self._markers = markers

    # -- life cycle --------------------------------------------------------------------------------

    @property
    def image(self) -> TransactionsImage:
        return self.transactions.image

    def replay(self, header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Raises `CorruptRecord`."""
        replay_transaction_batch(self.transactions, header, records)

    def _loaded(self) -> None:
        """Resume transactions that were being ended; timeouts restart."""
        self.carry_out(self.transactions.loaded(self.now_ms()))

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        return self.transactions.unload(error)

    def _committed(self, decision: TransactionDecision) -> TransactionDecision:
        return self.transactions.committed(decision, now_ms=self.now_ms())

    def _failed(self, decision: TransactionDecision, error: ErrorCode) -> TransactionDecision:
        return self.transactions.failed(decision, error, now_ms=self.now_ms())

    def _tick(self) -> TransactionDecision:
        return self.transactions.tick(self.now_ms())

    def _next_deadline_ms(self) -> int | None:
        return self.transactions.next_deadline_ms()

    # -- markers -----------------------------------------------------------------------------------

    def _publish(self, decision: TransactionDecision) -> None:
        super()._publish(decision)
        if self.leads:
            for markers in decision.markers:
                self._markers.write(self, markers)

    def awaits(self, markers: MarkersToWrite, partition: TopicPartition) -> bool:
        """Whether this marker is still to be written. Its topic may have been deleted meanwhile,
        and the transaction with it; a new topic may have that name."""
        return self.leads and self.transactions.awaits(markers, partition)

    def written(self, markers: MarkersToWrite, partitions: Collection[TopicPartition]) -> None:
        """These partitions have the transaction's marker."""
        if self.error is ErrorCode.NONE:
            self.carry_out(
                self.transactions.markers_written(
                    markers.transactional_id,
                    markers.producer_id,
                    markers.producer_epoch,
                    partitions,
                    now_ms=self.now_ms(),
                )
            )

    def topics_deleted(self, names: Collection[str]) -> None:
        """Drop pending markers for deleted topics."""
        if self.error is ErrorCode.NONE:
            self.carry_out(self.transactions.topics_deleted(names, now_ms=self.now_ms()))


def replay_transaction_batch(
    transactions: TransactionShard | TransactionsImage,
    header: BatchHeader,
    records: Sequence[StoredRecord],
) -> None:
    """Replay a batch of `__transaction_state`. Raises `CorruptRecord`."""
    if header.is_control:
        return
    for record in records:
        if record.key is not None:
            transactions.replay(record.key, record.value)

"""Transactions with one rule broken at a time."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.broker.coordinator.transaction_coordinator_shard import TransactionCoordinatorShard
from barnabas.broker.coordinator.transaction_verification import Done, TransactionVerification
from barnabas.broker.replica.partition import Partition
from barnabas.groups.offsets.committed_offsets import CommittedOffsets
from barnabas.log.producers import snapshot_files
from barnabas.log.producers.table import ProducerTable
from barnabas.log.segment.transaction_index import TransactionIndex
from barnabas.records.batch import BatchHeader
from barnabas.transactions import (
    MarkersToWrite,
    add_partitions,
    end_txn,
    init_producer_id,
    timeouts,
)
from barnabas.transactions.image import CLASSIC, TransactionImage
from barnabas.transactions.records import decode_key
from barnabas.transactions.state import TxnState
from barnabas.transactions.transaction import Transaction
from barnabas.wire.errors import ErrorCode
from tests.sim import schedules
from tests.sim.variant import Variant

# -- the coordinator -------------------------------------------------------------------------------


def _markers_at_once(self: CoordinatorShard[Any], decision: Any) -> int:
    next_offset = original_append(self, decision)
    if isinstance(self, TransactionCoordinatorShard):
        for record in decision.records:
            transactional_id = decode_key(record.key) or ""
            image = self.transactions._transactions[transactional_id].pending
            if image is not None and image.state.is_prepared:
                self._markers.write(self, _markers(transactional_id, image))
    return next_offset


def _markers(transactional_id: str, image: TransactionImage) -> MarkersToWrite:
    return MarkersToWrite(
        transactional_id,
        *image.identity,
        image.state is TxnState.PREPARE_COMMIT,
        image.client_transaction_version,
        image.partitions,
    )


original_append = CoordinatorShard._append


def _committed_at_once(self: CoordinatorShard[Any], next_offset: int) -> bool:
    return isinstance(self, TransactionCoordinatorShard) or original_is_committed(self, next_offset)


original_is_committed = CoordinatorShard._is_committed


def _same_epoch(image: TransactionImage | None, *arguments: Any) -> TransactionImage | ErrorCode:
    following = original_next_image(image, *arguments)
    if image is None or isinstance(following, ErrorCode):
        return following
    return replace(following, producer_id=image.producer_id, producer_epoch=image.producer_epoch)


original_next_image = init_producer_id._next_image


def _abort_only(transaction: Transaction, *arguments: Any) -> ErrorCode:
    """Abort the ongoing transaction without fencing its producer."""
    assert transaction.image is not None
    return end_txn._prepare(transaction, transaction.image, False, CLASSIC, *arguments)


def _as_if_complete(self: Transaction) -> bool:
    return self.pending is not None


def _any_epoch(image: TransactionImage, identity: tuple[int, int]) -> ErrorCode:
    return original_check_writer(image, (identity[0], image.producer_epoch))


original_check_writer = add_partitions._check_writer


def _any_epoch_ends(
    transaction: Transaction, image: TransactionImage, _request: Any
) -> ErrorCode | None:
    if transaction.is_busy:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return None if image.state is TxnState.ONGOING else ErrorCode.NONE


# -- the leader of a partition ---------------------------------------------------------------------


def _verified(
    self: TransactionVerification, *arguments: Any, adds: bool, done: Done, **_fields: Any
) -> None:
    if adds:
        original_when_verified(self, *arguments, adds=adds, done=done)
    else:
        done(ErrorCode.NONE)


original_when_verified = TransactionVerification.when_verified


def _lost_for_good(self: TransactionIndex) -> None:
    self.spilled = 0
    self._tail.clear()


def _forgets(self: ProducerTable, _entries: Any) -> None:
    self._producers = {}


# -- groups ----------------------------------------------------------------------------------------


def _shown_at_once(
    self: CommittedOffsets, topic: str, partition: int, value: Any, _producer_id: int = -1
) -> None:
    original_offsets_replay(self, topic, partition, value)


original_offsets_replay = CommittedOffsets.replay


def _without_markers(self: GroupCoordinatorShard, header: BatchHeader, records: Any) -> None:
    if not header.is_control:
        original_replay(self, header, records)


original_replay = GroupCoordinatorShard.replay


VARIANTS: dict[str, Variant] = {
    "write markers before the end is committed": Variant(
        [
            patch.object(CoordinatorShard, "_append", _markers_at_once),
            patch.object(TransactionCoordinatorShard, "awaits", lambda self, *_: self.leads),
        ],
        "transactions",
    ),
    "take an end for decided that is not replicated": Variant(
        [patch.object(CoordinatorShard, "_is_committed", _committed_at_once)], "transactions"
    ),
    "give a new instance the epoch of the one before": Variant(
        [
            patch.object(init_producer_id, "_next_image", _same_epoch),
            patch.object(init_producer_id, "abort_and_fence", _abort_only),
        ],
        "transactions",
    ),
    "let a producer go on whose transaction took too long": Variant(
        [patch.object(timeouts, "abort_and_fence", _abort_only)], "transactions"
    ),
    "begin a transaction before the last one has its markers": Variant(
        [patch.object(Transaction, "is_busy", property(_as_if_complete))], "transactions"
    ),
    "let any epoch add to a transaction": Variant(
        [patch.object(add_partitions, "_check_writer", _any_epoch)], "transactions"
    ),
    "let any epoch end a transaction": Variant(
        [
            patch.object(end_txn, "_check_classic", _any_epoch_ends),
            patch.object(end_txn, "_check_bumped", _any_epoch_ends),
        ],
        "transactions",
    ),
    "write for a transaction without asking its coordinator": Variant(
        [patch.object(TransactionVerification, "when_verified", _verified)],
        schedule=schedules.batch_behind_the_marker,
    ),
    "let a marker pass what is being verified": Variant(
        [patch.object(TransactionVerification, "transaction_ended", lambda *_: None)],
        schedule=schedules.answer_behind_the_marker,
    ),
    "serve up to the high watermark as committed": Variant(
        [patch.object(Partition, "last_stable_offset", property(lambda self: self.high_watermark))],
        "transactions",
    ),
    "forget at a restart which transactions were aborted": Variant(
        [patch.object(TransactionIndex, "lose", _lost_for_good)], "transactions"
    ),
    "show offsets of a transaction before its marker": Variant(
        [patch.object(CommittedOffsets, "replay", _shown_at_once)], "transactions"
    ),
    "pass over markers when offsets are loaded": Variant(
        [patch.object(GroupCoordinatorShard, "replay", _without_markers)], "transactions"
    ),
    "forget producers at a restart": Variant(
        [patch.object(snapshot_files, "_replay", lambda *_: None)], "transactions"
    ),
    "forget what goes on in a snapshot": Variant(
        [patch.object(ProducerTable, "restore", _forgets)], "transactions"
    ),
}

"""Appends as the leader: batches of producers, batches of the broker itself, and markers."""

from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.broker.replica.append_limits import MAX_RECORD_ERRORS
from barnabas.log import AppendInfo, StorageError
from barnabas.records.batch import (
    HEADER_SIZE,
    TRANSACTIONAL,
    BatchHeader,
    parse_header,
    patch_max_timestamp,
)
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.decompression_budget import DecompressionBudget
from barnabas.records.errors import InvalidBatch
from barnabas.records.validate import CheckedBatch, validate_batch
from barnabas.replication import LeaderState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.primitives import Buffer

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition

_EPOCH_GROWS = 2
"""The transaction version from which on each transaction bumps the producer's epoch."""


_SEQUENCE_ERRORS = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
    }
)
"""Errors of the batch itself. With any other error, a batch is refused for now because the one
before it was."""

LOST_CONTACT = "this node has lost contact with the controller"
"""Why a node that is cut off refuses to act as the leader."""


class AppendRefused(StorageError):  # noqa: N818 - says what has happened
    """This node may not append to the partition now; the error code says why."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code


class LeaderAppender:
    """Appends to a partition while this node leads it."""

    __slots__ = ("_partition",)

    def __init__(self, partition: "Partition") -> None:
        self._partition = partition

    def check(
        self, records: Buffer | None, budget: DecompressionBudget | None = None
    ) -> CheckedBatch:
        """Check what a producer sent. Raises `InvalidBatch`, or `OverBudget`."""
        limits = self._partition.limits
        return validate_batch(
            records if isinstance(records, memoryview) else memoryview(records or b""),
            max_batch_bytes=limits.max_message_bytes,
            max_decompressed_bytes=limits.max_decompressed_bytes,
            budget=budget,
        )

    def append(
        self,
        records: Buffer | None,
        now_ms: int,
        *,
        verified: bool = False,
        checked: CheckedBatch | None = None,
        budget: DecompressionBudget | None = None,
        max_record_errors: int = MAX_RECORD_ERRORS,
    ) -> AppendInfo:
        """Store what a producer sent, patching offsets in the request's buffer.

        `checked`: what `check` returned for these records, if it was called before.

        `verified`: the transaction coordinator has confirmed that these records' transaction
        includes this partition. Otherwise they have to continue a transaction that is open here.

        Raises `InvalidBatch`, `AppendRefused`, `StorageError`, or, with a `budget`, `OverBudget`;
        then nothing of it is stored.
        """
        partition = self._partition
        leading = partition.leading
        if leading is None or (not leading.is_alone and partition.host.is_cut_off()):
            raise self._not_leader()
        limits = partition.limits
        view = records if isinstance(records, memoryview) else memoryview(records or b"")
        header, (earliest, latest, keyless) = checked or validate_batch(
            view,
            max_batch_bytes=limits.max_message_bytes,
            max_decompressed_bytes=limits.max_decompressed_bytes,
            budget=budget,
        )
        stamps = partition.log.config.is_log_append_time
        if (keyless and limits.needs_keys) or not (
            stamps or limits.allow(earliest, latest, now_ms)
        ):
            raise limits.refusal(
                header,
                view,
                now_ms,
                is_log_append_time=stamps,
                max_record_errors=max_record_errors,
            )
        if latest != header.max_timestamp and not stamps:
            # Retention and lookups by time depend on it, and some clients get it wrong.
            header = patch_max_timestamp(view, header, latest)
        if header.producer_id >= 0:
            log = partition.log
            original = log.producer_state.find_duplicate(header)
            if original is not None:
                return original
            error = log.producer_state.sequence_error(header)
            if leading.settling_until_ms and self._is_early(leading, header, error):
                raise AppendRefused(
                    ErrorCode.NOT_LEADER_OR_FOLLOWER,
                    f"sequence {header.base_sequence} is not the next one: that one may have been"
                    " refused before this node began to lead, and will be retried",
                )
            if error is ErrorCode.INVALID_TXN_STATE and verified and not leading.is_alone:
                # The transaction that is open here has ended: otherwise the coordinator would not
                # have begun this one. So another node leads, and has the marker.
                raise AppendRefused(
                    ErrorCode.NOT_LEADER_OR_FOLLOWER,
                    f"{partition.name} lacks the end of an earlier transaction of producer"
                    f" {header.producer_id}: another node seems to lead it",
                )
            if error is not ErrorCode.NONE:
                message = f"sequence {header.base_sequence} is not the next one"
                if error in _SEQUENCE_ERRORS:
                    raise InvalidBatch(error, message)
                raise AppendRefused(error, f"{message}: that one was refused a moment ago")
            if (
                header.attributes & TRANSACTIONAL
                and not verified
                and log.producer_state.ongoing_transaction(
                    header.producer_id, header.producer_epoch
                )
                is None
            ):
                raise InvalidBatch(
                    ErrorCode.INVALID_TXN_STATE, "the transaction does not include this partition"
                )
        return self._store(leading, view, [(0, header)], now_ms)

    def _is_early(self, leading: LeaderState, header: BatchHeader, error: ErrorCode) -> bool:
        """Whether the batches before this one may have been refused elsewhere, or here before the
        partition was opened, and be retried.

        OUT_OF_ORDER_SEQUENCE_NUMBER would make a client send all that it can't be sure of in a new
        epoch, and so twice. Of an unknown producer a later batch would be stored first.
        """
        if self._partition.host.clock.steady_ms() >= leading.settling_until_ms:
            leading.settling_until_ms = 0
            return False
        if leading.leader_epoch == 0:
            return False  # nobody has led before
        producer = self._partition.log.producer_state.table.get(header.producer_id)
        if producer is None:
            return header.base_sequence > 0
        return (
            error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            and header.base_sequence > producer.next_sequence(header.producer_epoch)
        )

    def hold_back(self, records: Buffer | None, error: ErrorCode, now_ms: int) -> None:
        """A producer's batch was refused for now; its later batches must not be stored before
        it."""
        partition = self._partition
        if records is not None and len(records) >= HEADER_SIZE:
            header = parse_header(records)
            if header.producer_id >= 0:
                # If the producer state can't be read, later batches are refused as well.
                with suppress(StorageError):
                    producers = partition.log.producer_state.table
                    # A node that does not lead can't distinguish the first batch of a producer
                    # whose records are all deleted from a late one. But sequence 0 is the first
                    # one, unless it is stored already; then it arrives here, too.
                    if (
                        partition.is_leader
                        or header.base_sequence == 0
                        or producers.get(header.producer_id) is not None
                    ):
                        producers.hold_back(header, error, now_ms)

    def append_internal(self, batch: bytearray, header: BatchHeader, now_ms: int) -> AppendInfo:
        """Store a batch of the broker itself, as for a producer with acks=all.

        It may belong to a transaction that is known to include this partition. Raises
        `InvalidBatch` if the producer is fenced, `AppendRefused` or another `StorageError`.
        """
        leading = self._leading_for_all()
        if header.producer_id >= 0:
            error = self._partition.log.producer_state.sequence_error(header)
            if error is not ErrorCode.NONE:
                raise InvalidBatch(error, f"producer {header.producer_id} may not append this")
        return self._store(leading, memoryview(batch), [(0, header)], now_ms)

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        type_: ControlType,
        transaction_version: int,
        now_ms: int,
    ) -> AppendInfo | None:
        """End the transaction of a producer in this partition, with acks=all.

        None: it has ended already, and its marker is committed once the current log end is. Raises
        `AppendRefused` or another `StorageError`.
        """
        partition = self._partition
        leading = self._leading_for_all()
        producers = partition.log.producer_state.table
        epoch_grows = transaction_version >= _EPOCH_GROWS
        if producers.has_ended(
            producer_id, producer_epoch, coordinator_epoch, epoch_grows=epoch_grows
        ):
            return None
        error = producers.marker_error(
            producer_id, producer_epoch, coordinator_epoch, epoch_grows=epoch_grows
        )
        if error is not ErrorCode.NONE:
            raise AppendRefused(error, f"the transaction has ended in {partition.name}")
        batch = encode_end_marker(
            type_,
            timestamp_ms=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
        )
        return self._store(leading, memoryview(batch), [(0, parse_header(batch))], now_ms)

    def _leading_for_all(self) -> LeaderState:
        """The leader state, if enough replicas are in sync for acks=all."""
        partition = self._partition
        leading = partition.leading
        if leading is None or (not leading.is_alone and partition.host.is_cut_off()):
            raise self._not_leader()
        if partition.lacks_replicas:
            raise AppendRefused(
                ErrorCode.NOT_ENOUGH_REPLICAS, f"{partition.name} has too few replicas in sync"
            )
        return leading

    def _not_leader(self) -> AppendRefused:
        partition = self._partition
        why = LOST_CONTACT if partition.is_leader else f"{partition.name} is not led here"
        return AppendRefused(ErrorCode.NOT_LEADER_OR_FOLLOWER, why)

    def _store(
        self,
        leading: LeaderState,
        view: memoryview,
        batches: list[tuple[int, BatchHeader]],
        now_ms: int,
    ) -> AppendInfo:
        partition = self._partition
        log = partition.log
        if partition.watchers or partition.replica_watchers:
            log.reader.expect_read_at_end()
        end = log.log_end_offset
        try:
            info = log.appender.append(view, batches, partition.leader_epoch, now_ms)
        except StorageError:
            if not leading.is_alone:
                partition.unwritable()
            raise
        if leading.any_at_end:
            leading.end_moves(end, partition.host.clock.steady_ms())
        if partition.replica_watchers:
            for watcher in tuple(partition.replica_watchers):
                watcher.partition_moved(partition)
        if partition.flush_required:
            partition.host.on_append(partition)
        elif leading.is_alone:
            partition.advance_high_watermark(log.log_end_offset)
        elif not leading.waits_for_followers:
            partition.maybe_advance_high_watermark()
        return info

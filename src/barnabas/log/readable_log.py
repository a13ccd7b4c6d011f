"""Reading a log: batches, offsets by time, epochs, and what is known of producers."""

from barnabas.log.errors import OffsetOutOfRange, RecordsLost, StorageError, storage_errors
from barnabas.log.offset_assignment import AppendInfo
from barnabas.log.producers.table import ProducerTable
from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.log.stored_log import StoredLog
from barnabas.log.timestamp_lookup import TimestampOffset, first_at_or_after
from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import ErrorCode

_EMPTY = memoryview(b"")


class ReadableLog(StoredLog):
    __slots__ = ()

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upto_offset: int | None = None,
        min_one: bool = True,
    ) -> memoryview:
        """Whole batches exactly as stored, from the one that holds `offset` on, of one segment.

        At most `max_bytes`, except that with `min_one` the first batch comes whole in any case.
        Nothing at or behind `upto_offset`, which is a boundary between batches. Raises
        `RecordsLost` where damage has taken records away, unless they are to be skipped.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise OffsetOutOfRange(offset, self.log_start_offset, end)
        if upto_offset is None or upto_offset > end:
            upto_offset = end
        segment = self._active
        if segment is None:
            return _EMPTY
        if self.lost_ranges:
            offset, upto_offset = self._around_lost(offset, upto_offset)
        if offset >= upto_offset:
            if offset == end:
                segment.hint(end, segment.size)
            return _EMPTY
        try:
            if offset < segment.base_offset:
                segment = self._segments.with_offset(offset)
            return segment.read(offset, max_bytes, upto_offset, min_one=min_one)
        except OSError as error:
            raise StorageError(f"can not read {segment.log.path}: {error}") from error

    def _around_lost(self, offset: int, upto_offset: int) -> tuple[int, int]:
        """What can be read from `offset` on without passing over lost records."""
        lost = self.lost_ranges.at(offset)
        while lost is not None:
            if not self.config.skip_lost_records or lost.end >= upto_offset:
                raise RecordsLost(f"{self.directory} has lost {lost}")
            offset = lost.end
            lost = self.lost_ranges.at(offset)
        start = self.lost_ranges.next_start(offset)
        return offset, upto_offset if start is None else min(start, upto_offset)

    def expect_reader(self) -> None:
        """A reader waits at the end: remember its place, so that its read needs no search."""
        if self._active is not None:
            self._active.hint(self.log_end_offset, self._active.size)

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """Bytes of the batches from `offset` up to `end_offset`, both batch boundaries."""
        with storage_errors(f"can not read {self.directory}"):
            return self._segments.bytes_between(offset, end_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record with this timestamp or a later one."""
        with storage_errors(f"can not read {self.directory}"):
            return first_at_or_after(self._segments, timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first of the records with the largest timestamp."""
        largest = max((segment.max_timestamp for segment in self._segments), default=-1)
        return None if largest < 0 else self.offset_for_timestamp(largest)

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; -1 if there is none."""
        return self._epochs.epoch_for(self.log_end_offset - 1)

    def leader_epoch_for(self, offset: int) -> int:
        return self._epochs.epoch_for(offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """What OffsetForLeaderEpoch answers: (epoch, end offset), (-1, -1) if it is unknown."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    # Producers and their transactions

    @property
    def producers(self) -> ProducerTable:
        """All that is known of producers. Raises `StorageError` if the disk hides it."""
        return self._load_producers()

    def find_duplicate(self, header: BatchHeader) -> AppendInfo | None:
        """The answer that this very batch got when it was stored before, or None if it is new."""
        if header.producer_id < 0 or header.base_sequence < 0:
            return None
        batch = self._load_producers().find_duplicate(header)
        if batch is None:
            return None
        return AppendInfo(
            batch.base_offset, batch.last_offset, batch.timestamp, self.log_start_offset
        )

    def sequence_error(self, header: BatchHeader) -> ErrorCode:
        """Why a batch that repeats none may not follow what its producer has stored."""
        return self._load_producers().sequence_error(header)

    def ongoing_transaction(
        self, producer_id: int, producer_epoch: int | None = None
    ) -> int | None:
        """The first offset of the transaction that a producer, of this epoch, has going on here."""
        return self._load_producers().ongoing_transaction(producer_id, producer_epoch)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that goes on, or whose marker is not committed."""
        producers = self._producers
        if producers is None:
            try:
                producers = self._load_producers()
            except StorageError:
                return self.log_start_offset  # nothing is known to be stable
        if not producers.transactions:
            return None
        offset = producers.transactions.first_unstable_offset(self.committed_offset)
        return None if offset is None else max(offset, self.log_start_offset)

    @property
    def has_aborted_transactions(self) -> bool:
        return any(segment.aborted for segment in self._segments)

    def aborted_transactions(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The transactions with records in [offset, end_offset) that were aborted.

        In the order in which they were. There may be some among them that have no records there.
        """
        with storage_errors(f"can not read {self.directory}"):
            return self._segments.aborted_transactions(offset, end_offset)

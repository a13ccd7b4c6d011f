"""The producers of a partition, so that a retry is not stored twice.

For each producer id: its epoch, its last five batches (a client has at most five requests in
flight), the first offset of its ongoing transaction, and the epoch of the coordinator that ended
the last one. Every append updates the table, and replaying the batches' headers restores it.

A batch with an unexpected sequence is refused, or batches in flight could be reordered. If a batch
is refused because a leader has too few replicas in sync, those behind it are refused with the same
error. OUT_OF_ORDER_SEQUENCE_NUMBER would make some clients begin a new epoch for all their
partitions, and send in it again what waits to be committed elsewhere: such batches can't be
recognized as duplicates. An unknown producer may begin with any sequence, because its records may
have been deleted, but not behind a batch that was just refused, nor at a leader that has just begun
(`LeaderAppender`): it does not know what was refused before. With a new epoch, which the
producer or a marker has begun, the sequence begins at 0.
"""

from collections import deque
from collections.abc import Iterator
from heapq import nsmallest
from typing import NamedTuple

from barnabas.log.producers.transactions import EndMarker, Transactions
from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.records.batch import TRANSACTIONAL, BatchHeader
from barnabas.wire.errors import ErrorCode

REMEMBERED_BATCHES = 5
NO_TRANSACTION = -1
NO_COORDINATOR = -1
_MAX_SEQUENCE = 2**31 - 1
_MAX_HELD_BACK = 10_000


class ProducerBatch(NamedTuple):
    """One stored batch of a producer."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """The last batches of one producer id in its current epoch."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_append_ms",
        "last_timestamp",
        "transaction_offset",
    )

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[ProducerBatch] = deque(maxlen=REMEMBERED_BATCHES)
        self.last_append_ms = 0
        """When it last appended, or a marker was appended for it."""
        self.last_timestamp = -1
        """The timestamp of its last batch or marker."""
        self.coordinator_epoch = NO_COORDINATOR
        self.transaction_offset = NO_TRANSACTION
        """The first offset of the ongoing transaction."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1

    def next_sequence(self, epoch: int) -> int:
        """The sequence that its next batch with this epoch has to begin with."""
        if epoch != self.epoch or not self.batches:
            return 0
        return (self.batches[-1].last_sequence + 1) & _MAX_SEQUENCE


class _HeldBack(NamedTuple):
    """The next batch of a producer, or its first one here: it was refused, and will be retried."""

    epoch: int
    sequence: int
    error: ErrorCode
    """The batches behind it are refused with the same error."""
    refused_ms: int


class ProducerTable:
    """All producers of one partition, `max_producers` at most.

    Beyond it the longest idle ones are forgotten.
    """

    __slots__ = ("_evict_above", "_held_back", "_max_producers", "_producers", "transactions")

    def __init__(self, max_producers: int) -> None:
        self._producers: dict[int, ProducerEntry] = {}
        self._held_back: dict[int, _HeldBack] = {}
        self._max_producers = max_producers
        self._evict_above = max_producers
        """How many producers there may be before some are forgotten; more than `max_producers`
        while most have an ongoing transaction, as a search takes long."""
        self.transactions = Transactions()

    def __iter__(self) -> Iterator[tuple[int, ProducerEntry]]:
        return iter(self._producers.items())

    @property
    def count(self) -> int:
        return len(self._producers)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.get(producer_id)

    @property
    def last_append_ms(self) -> int:
        """When the last batch or marker of any producer was appended."""
        return max((entry.last_append_ms for entry in self._producers.values()), default=0)

    def restore(self, entries: dict[int, ProducerEntry]) -> None:
        """Take over the entries of a snapshot."""
        self._producers = entries
        ongoing = (
            (entry.transaction_offset, producer_id)
            for producer_id, entry in entries.items()
            if entry.transaction_offset != NO_TRANSACTION
        )
        for offset, producer_id in sorted(ongoing):
            self.transactions.begin(producer_id, offset)

    def find_duplicate(self, header: BatchHeader) -> ProducerBatch | None:
        """The stored batch that `header` repeats."""
        entry = self._producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        base_sequence, last_sequence = header.base_sequence, header.last_sequence
        for batch in entry.batches:
            if batch.base_sequence == base_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def sequence_error(self, header: BatchHeader) -> ErrorCode:
        """Why a batch that is not a duplicate may not be stored; NONE if it is the next one."""
        entry = self._producers.get(header.producer_id)
        epoch = header.producer_epoch
        if entry is None:
            held = self._held_back.get(header.producer_id)
            if held is not None and held.epoch == epoch and header.base_sequence > held.sequence:
                return held.error
            return ErrorCode.NONE
        if epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if entry.transaction_offset != NO_TRANSACTION and (
            epoch > entry.epoch or not header.attributes & TRANSACTIONAL
        ):
            # The ongoing transaction has to end first, or its marker would end this one as well.
            return ErrorCode.INVALID_TXN_STATE
        if header.base_sequence < 0:
            return ErrorCode.NONE
        expected = entry.next_sequence(epoch)
        if header.base_sequence == expected:
            return ErrorCode.NONE
        if self._held_back and header.base_sequence > expected:
            held = self._held_back.get(header.producer_id)
            if held is not None and (held.epoch, held.sequence) == (epoch, expected):
                return held.error
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def hold_back(self, header: BatchHeader, error: ErrorCode, now_ms: int) -> None:
        """A batch was refused with the retriable `error`: no batch behind may overtake it."""
        producer_id, epoch, sequence = (
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        )
        if sequence < 0:
            return
        entry = self._producers.get(producer_id)
        held = self._held_back.get(producer_id)
        if entry is not None:
            is_next = epoch >= entry.epoch and sequence == entry.next_sequence(epoch)
        else:
            is_next = held is None or (epoch, -sequence) > (held.epoch, -held.sequence)
        if is_next:
            self._held_back.pop(producer_id, None)  # so that they are ordered by time
            self._held_back[producer_id] = _HeldBack(epoch, sequence, error, now_ms)
            if len(self._held_back) > _MAX_HELD_BACK:
                del self._held_back[next(iter(self._held_back))]

    def marker_error(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, *, epoch_grows: bool
    ) -> ErrorCode:
        """Why a marker may not be stored.

        Where the `epoch_grows` with each transaction, a marker has a larger epoch than the batches
        of its transaction. Otherwise it is late, and the ongoing transaction is another one.
        """
        entry = self._producers.get(producer_id)
        if entry is None:
            return ErrorCode.NONE
        if coordinator_epoch < entry.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        if producer_epoch < entry.epoch or (epoch_grows and producer_epoch == entry.epoch):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return ErrorCode.NONE

    def has_ended(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, *, epoch_grows: bool
    ) -> bool:
        """Whether the transaction is ended already, so that a marker would change nothing.

        Where the `epoch_grows` with each transaction, the marker's epoch identifies it. Otherwise
        a marker of the same coordinator must be there, so that an earlier coordinator is refused.
        """
        entry = self._producers.get(producer_id)
        return (
            entry is not None
            and entry.epoch == producer_epoch
            and entry.transaction_offset == NO_TRANSACTION
            and (epoch_grows or coordinator_epoch <= entry.coordinator_epoch)
        )

    def coordinator_epoch(self, producer_id: int) -> int:
        """Of the last marker for a producer; `NO_COORDINATOR` if there was none."""
        entry = self._producers.get(producer_id)
        return NO_COORDINATOR if entry is None else entry.coordinator_epoch

    def ongoing_transaction(
        self, producer_id: int, producer_epoch: int | None = None
    ) -> int | None:
        """The first offset of a producer's ongoing transaction, of this epoch or of any."""
        entry = self._producers.get(producer_id)
        if entry is None or entry.transaction_offset == NO_TRANSACTION:
            return None
        if producer_epoch is not None and producer_epoch != entry.epoch:
            return None
        return entry.transaction_offset

    def update(self, header: BatchHeader, base_offset: int, timestamp: int, now_ms: int) -> None:
        """A batch of a producer was stored at `base_offset`."""
        entry = self._producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            entry = self._entry(header)
        if self._held_back:
            self._held_back.pop(header.producer_id, None)
        entry.last_append_ms = now_ms
        entry.last_timestamp = header.max_timestamp if timestamp < 0 else timestamp
        if header.base_sequence >= 0:
            entry.batches.append(
                ProducerBatch(
                    header.base_sequence,
                    header.last_sequence,
                    base_offset,
                    base_offset + header.last_offset_delta,
                    timestamp,
                )
            )
        if (
            header.attributes & TRANSACTIONAL
            and entry.transaction_offset == NO_TRANSACTION
            and header.record_count  # compaction may have emptied it, and removed the marker
        ):
            entry.transaction_offset = base_offset
            self.transactions.begin(header.producer_id, base_offset)

    def end(
        self,
        header: BatchHeader,
        marker: EndMarker,
        offset: int,
        now_ms: int,
        committed_offset: int,
    ) -> AbortedTransaction | None:
        """A marker was stored at `offset`. Returns the transaction that it aborts, if it does."""
        entry = self._entry(header)
        entry.last_append_ms = now_ms
        entry.last_timestamp = header.max_timestamp
        entry.coordinator_epoch = marker.coordinator_epoch
        first_offset = entry.transaction_offset
        if first_offset == NO_TRANSACTION:
            return None
        entry.transaction_offset = NO_TRANSACTION
        stable = self.transactions.end(header.producer_id, offset, committed_offset)
        if marker.is_commit:
            return None
        return AbortedTransaction(header.producer_id, first_offset, offset, stable)

    def _entry(self, header: BatchHeader) -> ProducerEntry:
        entry = self._producers.get(header.producer_id)
        if entry is None:
            entry = self._producers[header.producer_id] = ProducerEntry(header.producer_epoch)
            self._held_back.pop(header.producer_id, None)
            if len(self._producers) > self._evict_above:
                self._evict(header.producer_id)
        elif entry.epoch != header.producer_epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        return entry

    def _evict(self, newest: int) -> None:
        """Forget the longest idle producers without an ongoing transaction, so that a tenth of
        the places is free. If there are too few of them, wait for another tenth to come."""
        idle = (
            (entry.last_append_ms, producer_id)
            for producer_id, entry in self._producers.items()
            if entry.transaction_offset == NO_TRANSACTION and producer_id != newest
        )
        tenth = self._max_producers // 10
        others = len(self._producers) - 1  # the newest does not count
        surplus = others - (self._max_producers - tenth)
        for _, producer_id in nsmallest(surplus, idle):
            del self._producers[producer_id]
        self._evict_above = max(self._max_producers, len(self._producers) + tenth)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that were idle for `expiration_ms` and have no ongoing transaction."""
        idle_since = now_ms - expiration_ms
        for producer_id in [
            number
            for number, entry in self._producers.items()
            if entry.last_append_ms < idle_since and entry.transaction_offset == NO_TRANSACTION
        ]:
            del self._producers[producer_id]
        self._evict_above = self._max_producers
        for producer_id in [
            number for number, held in self._held_back.items() if held.refused_ms < idle_since
        ]:
            del self._held_back[producer_id]

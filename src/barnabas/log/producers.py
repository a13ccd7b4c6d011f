"""What a partition remembers of its idempotent producers, so that a retry is not stored twice.

Per producer id: its epoch and its last five batches (a client has at most five requests under way).
The table is updated by every append, and written to `<offset>.snapshot` when a segment rolls and
when the log closes; later batches are replayed from their headers.

Snapshot, big-endian: version int16, CRC-32C uint32 of the rest, then per producer
producer_id int64, epoch int16, last_append_ms int64, number of batches int8, and per batch
base_sequence int32, last_sequence int32, base_offset int64, last_offset int64, timestamp int64.

What comes out of sequence is refused, or batches under way at the same time could change places: if
the first one is refused while a leader has too few replicas, so must be those behind it. A producer
that is not known may begin anywhere, because its past may have been deleted.
"""

import struct
from collections import deque
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import ErrorCode

SNAPSHOT_SUFFIX = ".snapshot"
REMEMBERED_BATCHES = 5
_MAX_SEQUENCE = 2**31 - 1

_VERSION = 1
_PREFIX = Struct(">hI")
_PRODUCER = Struct(">qhqb")
_BATCH = Struct(">iiqqq")


class ProducerBatch(NamedTuple):
    """One batch that a producer has stored."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """The recent past of one producer id, within its current epoch."""

    __slots__ = ("batches", "epoch", "last_append_ms")

    def __init__(self, epoch: int, last_append_ms: int) -> None:
        self.epoch = epoch
        self.last_append_ms = last_append_ms
        self.batches: deque[ProducerBatch] = deque(maxlen=REMEMBERED_BATCHES)


class ProducerTable:
    """All producers of one partition."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEntry] = {}

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
        """Why a batch that repeats none may not be stored, if it is not the next one."""
        entry = self._producers.get(header.producer_id)
        if entry is None or header.base_sequence < 0:
            return ErrorCode.NONE
        if header.producer_epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if header.producer_epoch > entry.epoch:
            expected = 0
        elif entry.batches:
            expected = (entry.batches[-1].last_sequence + 1) & _MAX_SEQUENCE
        else:
            return ErrorCode.NONE
        in_sequence = header.base_sequence == expected
        return ErrorCode.NONE if in_sequence else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def update(self, header: BatchHeader, base_offset: int, timestamp: int, now_ms: int) -> None:
        """A batch of an idempotent producer was stored at `base_offset`."""
        entry = self._producers.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            entry = ProducerEntry(header.producer_epoch, now_ms)
            self._producers[header.producer_id] = entry
        entry.last_append_ms = now_ms
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

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have not appended for so long."""
        idle_since = now_ms - expiration_ms
        for producer_id in [
            number for number, p in self._producers.items() if p.last_append_ms < idle_since
        ]:
            del self._producers[producer_id]

    def snapshot(self) -> bytes:
        body = bytearray()
        for producer_id, entry in self._producers.items():
            batches = entry.batches
            body += _PRODUCER.pack(producer_id, entry.epoch, entry.last_append_ms, len(batches))
            for batch in batches:
                body += _BATCH.pack(*batch)
        return _PREFIX.pack(_VERSION, crc32c(body)) + body

    @classmethod
    def from_snapshot(cls, data: bytes) -> "ProducerTable | None":
        """The table as it was, or None if the snapshot is damaged."""
        table = cls()
        try:
            version, crc = _PREFIX.unpack_from(data)
            if version != _VERSION or crc != crc32c(data[_PREFIX.size :]):
                return None
            at = _PREFIX.size
            while at < len(data):
                producer_id, epoch, last_append_ms, count = _PRODUCER.unpack_from(data, at)
                at += _PRODUCER.size
                entry = table._producers[producer_id] = ProducerEntry(epoch, last_append_ms)
                for _ in range(count):
                    entry.batches.append(ProducerBatch._make(_BATCH.unpack_from(data, at)))
                    at += _BATCH.size
        except struct.error:
            return None
        return table

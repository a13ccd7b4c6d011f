"""Batches of the source, made into batches that the target takes from a producer.

Most batches stay as they are, compression included: only their header changes, and the CRC. Those
that a producer may not send are encoded again, record by record:

- with gaps between offsets, which compaction leaves: sequence numbers have none;
- with a time that the source's broker has set: producers may not say so. Records keep that time,
  unless the target's topic sets its own;
- with the time from which tombstones may be removed, which only a log cleaner knows;
- of which a part was copied before;
- whose records get or have a provenance header.

The CRC is checked before it is replaced, or damage would be sealed as valid.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.mirror.provenance import Provenance
from barnabas.records.batch import (
    DELETE_HORIZON,
    TRANSACTIONAL,
    BatchHeader,
    compute_crc,
    pack_header_into,
    patch_crc,
)
from barnabas.records.compression import Compression
from barnabas.records.decode import DEFAULT_MAX_DECOMPRESSED_BYTES, decode_batch
from barnabas.records.encode import pack_records
from barnabas.records.errors import CorruptBatch
from barnabas.records.recompress import CompressionTarget, recompressed
from barnabas.records.record import Record, Row

MAX_ENCODED_BYTES = 1_000_000
"""A batch that is encoded again is cut if it gets larger: the default of `max.message.bytes`."""

_PRODUCER = Struct(">qhi")
_PRODUCER_AT = 43


class RecordRun(NamedTuple):
    """Records of a batch whose offsets in the source follow each other."""

    upstream: int
    first: int
    """Index of the first one in the batch."""
    records: int


class OutgoingBatch(NamedTuple):
    """A batch for the target, whole but for its producer."""

    buffer: bytearray
    records: int
    max_timestamp: int
    runs: Sequence[RecordRun]


class BatchConversion(NamedTuple):
    """How a flow changes batches."""

    provenance: Provenance | None = None
    compression: Compression | None = None
    """The codec of batches that are not compressed; None: they stay so."""
    transactional: bool = True
    """Whether the target's producer sends them in transactions."""

    def outgoing(
        self,
        header: BatchHeader,
        batch: memoryview,
        start: int = 0,
        max_timestamp: int | None = None,
    ) -> Iterator[OutgoingBatch]:
        """What becomes of a batch, of its records from offset `start` on.

        Those with a later time than `max_timestamp` are left out. Raises `RecordsError` if the
        batch is damaged.
        """
        if header.record_count == 0 or header.next_offset <= start:
            return
        is_late = max_timestamp is not None and header.max_timestamp > max_timestamp
        if self.provenance is None and not is_late and not _must_be_encoded(header, start):
            yield self._restamped(header, batch)
            return
        records = [each for each in decode_batch(batch) if each.offset >= start]
        if is_late:
            records = [each for each in records if each.timestamp <= (max_timestamp or 0)]
        origin = self.provenance
        if origin is not None:
            records = [each for each in records if not origin.has_passed_target(each)]
        if records:
            codec = Compression(header.compression)
            if codec is Compression.NONE and self.compression is not None:
                codec = self.compression
            yield from self._encoded(records, codec)

    def _restamped(self, header: BatchHeader, batch: memoryview) -> OutgoingBatch:
        if compute_crc(batch) != header.crc:
            raise CorruptBatch(f"the CRC of the batch at offset {header.base_offset} is wrong")
        if self.compression is not None and header.compression == Compression.NONE:
            buffer = bytearray(
                recompressed(
                    batch,
                    CompressionTarget(self.compression),
                    max_batch_bytes=len(batch),
                    max_decompressed_bytes=DEFAULT_MAX_DECOMPRESSED_BYTES,
                )
            )
            header = header._replace(
                batch_length=header.batch_length + len(buffer) - len(batch),
                attributes=header.attributes | self.compression,
            )
        else:
            buffer = bytearray(batch)
        pack_header_into(
            buffer,
            header._replace(
                base_offset=0,
                partition_leader_epoch=-1,
                attributes=(header.attributes & ~TRANSACTIONAL)
                | (TRANSACTIONAL if self.transactional else 0),
            ),
        )
        run = RecordRun(header.base_offset, 0, header.record_count)
        return OutgoingBatch(buffer, header.record_count, header.max_timestamp, (run,))

    def _encoded(self, records: list[Record], codec: Compression) -> Iterator[OutgoingBatch]:
        rows: list[Record] | list[Row] = records
        if self.provenance is not None:
            rows = list(map(self.provenance.marked, records))
        packed = pack_records(rows, compression=codec)
        if packed.size > MAX_ENCODED_BYTES and len(records) > 1:
            half = len(records) // 2
            yield from self._encoded(records[:half], codec)
            yield from self._encoded(records[half:], codec)
            return
        buffer = packed.seal(transactional=self.transactional)
        runs = _runs([each.offset for each in records])
        yield OutgoingBatch(buffer, len(records), packed.max_timestamp, runs)


def _must_be_encoded(header: BatchHeader, start: int) -> bool:
    return (
        header.base_offset < start
        or header.record_count != header.last_offset_delta + 1
        or header.is_log_append_time
        or bool(header.attributes & DELETE_HORIZON)
    )


def _runs(offsets: list[int]) -> list[RecordRun]:
    """Ascending offsets, as runs without gaps."""
    if offsets[-1] - offsets[0] + 1 == len(offsets):
        return [RecordRun(offsets[0], 0, len(offsets))]
    runs: list[RecordRun] = []
    for index, offset in enumerate(offsets):
        if runs and runs[-1].upstream + runs[-1].records == offset:
            runs[-1] = runs[-1]._replace(records=runs[-1].records + 1)
        else:
            runs.append(RecordRun(offset, index, 1))
    return runs


def stamp(batch: OutgoingBatch, producer: ProducerIdentity, sequence: int) -> None:
    """Write the producer and the sequence number of the first record into a batch, and its CRC."""
    _PRODUCER.pack_into(
        batch.buffer, _PRODUCER_AT, producer.producer_id, producer.producer_epoch, sequence
    )
    patch_crc(batch.buffer)

"""Records as bytes: located in a batch, filtered, and put into a new batch.

Only what decides about a record is decoded. The walk over the records is apart from those of
`records.decode` and `records.check`: a shared generator was measured, and costs half as much again
here and a sixth there.
"""

from collections.abc import Sequence

from barnabas.log.errors import StorageError
from barnabas.log.segment.scan import ScannedBatch
from barnabas.log.segment.unreadable_batch import readable_payload
from barnabas.records.batch import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_PREFIX,
    NO_PRODUCER_ID,
    TRANSACTIONAL,
    BatchHeader,
    compute_crc,
    pack_header,
)
from barnabas.records.compression import Compression, compress
from barnabas.records.errors import DecompressionBomb
from barnabas.records.record import NO_TIMESTAMP
from barnabas.records.varint import decode_varint, encode_varint

RawRecord = tuple[int, int, int, int, bytes | None, bool]
"""Start and end in the payload, timestamp delta, offset delta, key, whether it is a tombstone."""

Batch = tuple[BatchHeader, bytes | memoryview]
"""A header, and the whole batch including that header."""


def read_records(batch: ScannedBatch) -> tuple[bytes, list[RawRecord]]:
    """The records of a batch, uncompressed, and where each of them is.

    Raises `UnreadableBatch` or, for a batch that takes too much memory, `StorageError`.
    """
    header = batch.header
    try:
        payload = readable_payload(header, batch.data)
    except DecompressionBomb as error:
        raise StorageError(f"the batch at offset {header.base_offset}: {error}") from error
    return payload, _walk(header.record_count, payload)


def _walk(count: int, payload: bytes) -> list[RawRecord]:
    """The position of every record, and what decides about it; all are well-formed.

    Varints of one or two bytes, the usual case, are decoded inline: a call costs more.
    """
    records: list[RawRecord] = []
    at = 0
    for _ in range(count):
        start = at
        low, high = payload[at], payload[at + 1]
        if low < 0x80:
            end = at + 1 + ((low >> 1) ^ -(low & 1))
            at += 2
        elif high < 0x80:
            low += (high << 7) - 0x80
            end = at + 2 + ((low >> 1) ^ -(low & 1))
            at += 3
        else:
            length, at = decode_varint(payload, at)
            end = at + length
            at += 1
        low = payload[at]
        if low < 0x80:
            timestamp_delta = (low >> 1) ^ -(low & 1)
            at += 1
        else:
            timestamp_delta, at = decode_varint(payload, at)
        low = payload[at]
        if low < 0x80:
            offset_delta = (low >> 1) ^ -(low & 1)
            at += 1
        elif (high := payload[at + 1]) < 0x80:
            low += (high << 7) - 0x80
            offset_delta = (low >> 1) ^ -(low & 1)
            at += 2
        else:
            offset_delta, at = decode_varint(payload, at)
        low = payload[at]
        if low < 0x80:
            length = (low >> 1) ^ -(low & 1)
            at += 1
        else:
            length, at = decode_varint(payload, at)
        key = None
        if length >= 0:
            key = payload[at : at + length]
            at += length
        # Of the value's length only the sign counts, and that is the lowest bit.
        is_tombstone = payload[at] & 1 == 1
        records.append((start, end, timestamp_delta, offset_delta, key, is_tombstone))
        at = end
    return records


def filtered(header: BatchHeader, payload: bytes, kept: Sequence[RawRecord]) -> Batch:
    """The batch with only these records; their bytes, deltas included, stay as they are."""
    records = b"".join([payload[start:end] for start, end, *_ in kept])
    return _with_records(header, records, kept)


def with_horizon(
    header: BatchHeader, payload: bytes, kept: Sequence[RawRecord], horizon_ms: int
) -> Batch:
    """The batch with these records, and a mark when their tombstones may go.

    The mark takes the place of the base timestamp, so every record gets another delta: the sum of
    the two is still the record's own timestamp.
    """
    shift = header.base_timestamp - horizon_ms
    parts: list[bytes] = []
    for start, end, timestamp_delta, *_ in kept:
        _, at = decode_varint(payload, start)
        _, rest = decode_varint(payload, at + 1)
        body = payload[at : at + 1] + encode_varint(timestamp_delta + shift) + payload[rest:end]
        parts += encode_varint(len(body)), body
    batch = _with_records(header, b"".join(parts), kept)
    return rebuilt(
        batch[0]._replace(
            attributes=batch[0].attributes | DELETE_HORIZON, base_timestamp=horizon_ms
        ),
        batch[1][HEADER_SIZE:],
    )


def _with_records(header: BatchHeader, records: bytes, kept: Sequence[RawRecord]) -> Batch:
    max_timestamp = header.max_timestamp
    if not header.is_log_append_time:
        max_timestamp = header.base_timestamp + max(record[2] for record in kept)
    return rebuilt(
        header._replace(record_count=len(kept), max_timestamp=max_timestamp),
        compress(Compression(header.compression), records),
    )


def emptied(header: BatchHeader) -> Batch:
    """The batch without records: it keeps its offsets, and its producer's epoch and sequence."""
    gone = COMPRESSION_MASK | DELETE_HORIZON
    return rebuilt(
        header._replace(
            attributes=header.attributes & ~gone,
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=NO_TIMESTAMP,
            record_count=0,
        ),
        b"",
    )


def placeholder(header: BatchHeader) -> Batch:
    """Nothing but the batch's offsets."""
    return emptied(
        header._replace(
            attributes=header.attributes & ~(TRANSACTIONAL | CONTROL),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=-1,
            base_sequence=-1,
        )
    )


def is_placeholder(header: BatchHeader) -> bool:
    return header.record_count == 0 and not header.has_producer


def rebuilt(header: BatchHeader, records: bytes | memoryview) -> Batch:
    """A batch with this header, its length and CRC corrected, and these records as they are."""
    length = HEADER_SIZE - LENGTH_PREFIX + len(records)
    header = header._replace(batch_length=length, crc=0)
    header = header._replace(crc=compute_crc(memoryview(pack_header(header) + records)))
    return header, pack_header(header) + records

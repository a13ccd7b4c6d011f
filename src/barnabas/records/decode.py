"""Batches to records.

Every length and count is compared with the available bytes before anything is allocated for it. A
record batch is read in two steps, since a consumer skips some batches by their header alone:
`iter_batches` checks the framing, `decode_batch` the CRC and everything inside.
"""

from collections.abc import Iterator

from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    Buffer,
    compute_crc,
    parse_header,
)
from barnabas.records.compression import decompress
from barnabas.records.errors import CorruptBatch
from barnabas.records.kernel import kernel
from barnabas.records.message import Message
from barnabas.records.record import Header, Record
from barnabas.records.varint import decode_varint

# length, attributes, two deltas, two lengths and a count, one byte each
MIN_RECORD_SIZE = 7
MIN_BATCH_LENGTH = HEADER_SIZE - LENGTH_PREFIX
DEFAULT_MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024

_MIN_HEADER_SIZE = 2
_NO_HEADERS: tuple[Header, ...] = ()


def iter_batches(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches of a Fetch response or a segment file, each with its header.

    A broker may cut off a response in the last batch: the iteration ends there. Raises
    `CorruptBatch` at bytes that are no batch of format v2. Does not check the CRC.
    """
    view = memoryview(buffer)
    end = len(view)
    at = 0
    while end - at > MAGIC_AT:
        # An older message may be shorter than a v2 header; its magic is in the same place.
        if view[at + MAGIC_AT] != MAGIC:
            raise CorruptBatch(f"magic {view[at + MAGIC_AT]} at position {at}, only 2 is supported")
        if end - at < HEADER_SIZE:
            return
        header = parse_header(view, at)
        if header.batch_length < MIN_BATCH_LENGTH:
            raise CorruptBatch(f"batch length {header.batch_length} at position {at}")
        size = header.size
        if size > end - at:
            return
        yield header, view[at : at + size]
        at += size


def decode_records(buffer: Buffer, *, limit: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """All records of a Fetch response except control records.

    Includes records of aborted transactions. `limit` applies to each batch.
    """
    records: list[Record] = []
    for header, batch in iter_batches(buffer):
        if not header.is_control:
            records += decode_batch(batch, limit=limit)
    return records


def decode_batch(batch: Buffer, *, limit: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """The records of one whole batch, control records included.

    Raises `CorruptBatch`, or `DecompressionBomb` if the records take more than `limit` bytes.
    """
    header, payload = open_batch(batch, limit=limit)
    if kernel is not None:
        records = kernel.decode_rows(
            Record,
            payload,
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else None,
        )
        if records is not None:
            return records
    return decode_payload(header, payload)


def decode_messages(
    batch: Buffer,
    topic: str,
    partition: int,
    start_offset: int = 0,
    *,
    limit: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> list[Message]:
    """The records of one whole batch from `start_offset` on, as messages of this partition.

    Raises as `decode_batch` does.
    """
    header, payload = open_batch(batch, limit=limit)
    if kernel is not None:
        messages = kernel.decode_messages(
            Message,
            payload,
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else None,
            topic,
            partition,
            start_offset,
        )
        if messages is not None:
            return messages
    return [
        Message(topic, partition, offset, timestamp, key, value, tuple(headers))
        for timestamp, key, value, headers, offset in decode_payload(header, payload)
        if offset >= start_offset
    ]


def open_batch(
    batch: Buffer, *, limit: int = DEFAULT_MAX_DECOMPRESSED_BYTES
) -> tuple[BatchHeader, Buffer]:
    """The header of one whole batch and its records, decompressed; raises as `decode_batch` does.

    Checks everything except the records themselves.
    """
    view = memoryview(batch)
    if len(view) < HEADER_SIZE:
        raise CorruptBatch(f"{len(view)} bytes are too few for a batch")
    header = parse_header(view)
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic}, only 2 is supported")
    if header.size != len(view):
        raise CorruptBatch(f"a batch of {header.size} bytes in {len(view)}")
    if compute_crc(view) != header.crc:
        raise CorruptBatch("the CRC does not match")
    payload = decompress(header.compression, view[HEADER_SIZE:], limit)
    if not 0 <= header.record_count * MIN_RECORD_SIZE <= len(payload):
        raise CorruptBatch(f"{header.record_count} records in {len(payload)} bytes")
    return header, payload


def decode_payload(header: BatchHeader, payload: Buffer) -> list[Record]:
    """The records of a batch that `open_batch` has opened, without the compiled kernel.

    It decides what is well-formed: what a faster decoder declines is decoded here.
    """
    try:
        # The slices of a bytes object are bytes already; those of a view would need a copy each.
        return _decode_payload(header, bytes(payload))
    except IndexError:
        raise CorruptBatch("a record is cut off") from None


def _decode_payload(header: BatchHeader, data: bytes) -> list[Record]:
    """Read the records in sequence; IndexError where `data` ends too early.

    Varints of one byte, the usual case, are decoded inline, at half the cost of a call.
    """
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    end = len(data)
    records: list[Record] = []
    new = tuple.__new__  # what Record(...) calls, in half the time
    at = 0
    for _ in range(header.record_count):
        length, at = decode_varint(data, at)
        record_end = at + length
        if record_end > end:
            raise CorruptBatch(f"a record of {length} bytes, {end - at} are left")
        at += 1  # the attributes, unused so far

        byte = data[at]
        if byte < 0x80:
            timestamp_delta = (byte >> 1) ^ -(byte & 1)
            at += 1
        else:
            timestamp_delta, at = decode_varint(data, at)
        byte = data[at]
        if byte < 0x80:
            offset_delta = (byte >> 1) ^ -(byte & 1)
            at += 1
        else:
            offset_delta, at = decode_varint(data, at)

        byte = data[at]
        if byte < 0x80:
            n = (byte >> 1) ^ -(byte & 1)
            at += 1
        else:
            n, at = decode_varint(data, at)
        key = None
        if n >= 0:
            key = data[at : at + n]
            at += n

        n, at = decode_varint(data, at)
        value = None
        if n >= 0:
            value = data[at : at + n]
            at += n

        headers = _NO_HEADERS
        if data[at] == 0:
            at += 1
        else:
            headers, at = _decode_headers(data, at, record_end)
        # This detects a length that is too small or negative, and a key or value that reaches into
        # the next record: slices never fail, and `at` only grows.
        if at != record_end:
            raise CorruptBatch(
                f"a record ends {at - record_end:+d} bytes from where its length says"
            )
        records.append(
            new(
                Record,
                (
                    base_timestamp + timestamp_delta if append_time is None else append_time,
                    key,
                    value,
                    headers,
                    base_offset + offset_delta,
                ),
            )
        )
    if at != end:
        raise CorruptBatch(f"{end - at} bytes behind the last record")
    return records


def _decode_headers(data: bytes, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = decode_varint(data, at)
    if not 0 <= count * _MIN_HEADER_SIZE <= end - at:
        raise CorruptBatch(f"{count} headers in {end - at} bytes")
    headers: list[Header] = []
    for _ in range(count):
        n, at = decode_varint(data, at)
        if not 0 <= n <= end - at:
            raise CorruptBatch(f"a header key of {n} bytes, {end - at} are left")
        # A key that is not valid UTF-8 must not make the whole partition unreadable.
        key = data[at : at + n].decode(errors="replace")
        at += n
        n, at = decode_varint(data, at)
        if n < 0:
            headers.append((key, None))
            continue
        if n > end - at:
            raise CorruptBatch(f"a header value of {n} bytes, {end - at} are left")
        headers.append((key, data[at : at + n]))
        at += n
    return tuple(headers), at

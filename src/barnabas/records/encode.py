"""Records to batches.

One record, all integers zigzag varints but the attributes:

    length            bytes that follow
    attributes        int8, always 0
    timestamp_delta   to the batch's base_timestamp
    offset_delta      to the batch's base_offset
    key_length        -1 for a null key
    key
    value_length      -1 for a null value
    value
    header_count
    headers           each: key_length, key in UTF-8, value_length or -1, value

Batches with gaps in their offsets, which only a log cleaner writes, are not supported.
"""

from collections.abc import Iterable

from barnabas.records.batch import HEADER_SIZE
from barnabas.records.compression import Compression
from barnabas.records.kernel import kernel
from barnabas.records.packed import PackedRecords, pack_payload
from barnabas.records.record import Headers, Record, Row
from barnabas.records.varint import SMALL_VARINT_END, SMALL_VARINTS, encode_varint

_NULL = encode_varint(-1)
_NO_HEADERS = encode_varint(0)

# length 5, attributes 1, timestamp_delta 10, offset_delta 5, and 5 for each of the three counts
MAX_RECORD_OVERHEAD = 36
MAX_HEADER_OVERHEAD = 10


def encode_batch(
    records: Iterable[Row | Record],
    *,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    log_append_time_ms: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """One batch of `records`, which get consecutive offsets from `base_offset`.

    With `log_append_time_ms` the batch gets that timestamp, as a broker does for LogAppendTime.
    Raises ValueError without records: a producer sends no empty batch.
    """
    return pack_records(records, compression=compression).seal(
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        leader_epoch=leader_epoch,
        transactional=transactional,
        control=control,
    )


def pack_records(
    records: Iterable[Row | Record], *, compression: Compression = Compression.NONE
) -> PackedRecords:
    """`records` encoded for a batch whose header is not known yet.

    Raises ValueError without records.
    """
    rows = records if isinstance(records, list) else list(records)
    packed = None if kernel is None else kernel.encode_rows(rows, HEADER_SIZE)
    if packed is not None:
        buffer, base_timestamp, max_timestamp = packed
        return pack_payload(buffer, compression, len(rows), base_timestamp, max_timestamp)
    builder = BatchBuilder(compression=compression)
    builder.extend(rows)
    return builder.pack()


class BatchBuilder:
    """A batch that grows record by record and knows its size.

    `size` counts bytes before compression, the batch header included. `build` may be called more
    than once, as a producer that retries under a new epoch does.
    """

    __slots__ = ("_base_timestamp", "_max_timestamp", "_parts", "compression", "size")

    def __init__(self, *, compression: Compression = Compression.NONE) -> None:
        self.compression = compression
        self.size = HEADER_SIZE
        self._parts: list[bytes] = []
        self._base_timestamp = 0
        self._max_timestamp = 0

    @property
    def record_count(self) -> int:
        return len(self._parts)

    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> int:
        """Add one record and return its offset delta."""
        self.extend(((timestamp, key, value, headers),))
        return len(self._parts) - 1

    def extend(self, records: Iterable[Row | Record]) -> None:
        """Add many records."""
        parts = self._parts
        size = 0
        offset_delta = len(parts)
        base_timestamp = self._base_timestamp
        max_timestamp = self._max_timestamp
        for record in records:
            timestamp = record[0]
            if offset_delta == 0:
                base_timestamp = max_timestamp = timestamp
            elif timestamp > max_timestamp:
                max_timestamp = timestamp
            part = encode_record(
                timestamp - base_timestamp, offset_delta, record[1], record[2], record[3]
            )
            size += len(part)
            parts.append(part)
            offset_delta += 1
        self.size += size
        self._base_timestamp = base_timestamp
        self._max_timestamp = max_timestamp

    def pack(self) -> PackedRecords:
        """All records so far, to be sealed."""
        if not self._parts:
            raise ValueError("a batch needs at least one record")
        return pack_payload(
            bytearray().join((bytes(HEADER_SIZE), *self._parts)),
            self.compression,
            len(self._parts),
            self._base_timestamp,
            self._max_timestamp,
        )

    def build(
        self,
        *,
        base_offset: int = 0,
        log_append_time_ms: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        leader_epoch: int = -1,
        transactional: bool = False,
        control: bool = False,
    ) -> bytearray:
        """The finished batch."""
        return self.pack().seal(
            base_offset=base_offset,
            log_append_time_ms=log_append_time_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            leader_epoch=leader_epoch,
            transactional=transactional,
            control=control,
        )


def max_record_size(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """An upper bound of the bytes that this record takes in any batch."""
    size = MAX_RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for header_key, header_value in headers:
        size += MAX_HEADER_OVERHEAD + len(header_key.encode()) + len(header_value or b"")
    return size


def encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
) -> bytes:
    """One record, encoded.

    Every producer runs this for every record, hence the table look-ups instead of calls, and the
    single join.
    """
    if key is None:
        key = b""
        key_length = _NULL
    else:
        n = len(key)
        key_length = SMALL_VARINTS[n] if n < SMALL_VARINT_END else encode_varint(n)
    if value is None:
        value = b""
        value_length = _NULL
    else:
        n = len(value)
        value_length = SMALL_VARINTS[n] if n < SMALL_VARINT_END else encode_varint(n)
    timestamp = encode_varint(timestamp_delta)
    offset = (
        SMALL_VARINTS[offset_delta]
        if offset_delta < SMALL_VARINT_END
        else encode_varint(offset_delta)
    )
    tail = _encode_headers(headers) if headers else _NO_HEADERS
    n = 1 + len(timestamp) + len(offset) + len(key_length) + len(key)
    n += len(value_length) + len(value) + len(tail)
    length = SMALL_VARINTS[n] if n < SMALL_VARINT_END else encode_varint(n)
    return b"".join(
        (length, b"\x00", timestamp, offset, key_length, key, value_length, value, tail)
    )


def _encode_headers(headers: Headers) -> bytes:
    parts = [encode_varint(len(headers))]
    for key, value in headers:
        raw_key = key.encode()
        parts += encode_varint(len(raw_key)), raw_key
        if value is None:
            parts.append(_NULL)
        else:
            parts += encode_varint(len(value)), value
    return b"".join(parts)

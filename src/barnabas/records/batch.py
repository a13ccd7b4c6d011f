"""The header of a record batch, format v2: 61 bytes in front of the records.

Layout, big-endian:

    base_offset              int64   offset of the first record; the broker assigns it
    batch_length             int32   bytes that follow this field
    partition_leader_epoch   int32   the broker assigns it
    magic                    int8    always 2
    crc                      uint32  CRC-32C of everything from `attributes` to the end
    attributes               int16   bits 0-2 compression, 3 timestamp type, 4 transactional,
                                     5 control, 6 delete horizon
    last_offset_delta        int32
    base_timestamp           int64
    max_timestamp            int64
    producer_id              int64
    producer_epoch           int16
    base_sequence            int32
    record_count             int32

The CRC does not cover `base_offset` and `partition_leader_epoch`, so a broker writes them into the
received buffer without changing the rest.
"""

from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

HEADER_SIZE = 61
LENGTH_PREFIX = 12  # base_offset and batch_length, which batch_length does not count
MAGIC = 2
MAGIC_AT = 16  # in every message format there has been
NO_PRODUCER_ID = -1

_HEADER = Struct(">qiibIhiqqqhii")
_OFFSET = Struct(">q")
_ASSIGNED = Struct(">qii")  # base_offset, batch_length, partition_leader_epoch
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_LENGTH = Struct(">i")

_CRC_AT = 17
_CRC_FROM = 21
_MAX_TIMESTAMP_AT = 35

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
"""`base_timestamp` is the time from which a log cleaner may remove tombstones and markers."""

Buffer = bytes | bytearray | memoryview


class BatchHeader(NamedTuple):
    """One parsed header. All fields as on the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes the whole batch takes, the header included."""
        return LENGTH_PREFIX + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; sequences wrap around after 2**31 - 1."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers may be removed; None if no log cleaner has set it yet."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def has_producer(self) -> bool:
        return self.producer_id >= 0


def parse_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """Read the header at `at`; the caller has checked that there are 61 bytes."""
    return BatchHeader._make(_HEADER.unpack_from(buffer, at))


def pack_header(header: BatchHeader) -> bytes:
    """The 61 bytes of `header`, its CRC as given."""
    return _HEADER.pack(*header)


def pack_header_into(buffer: bytearray | memoryview, header: BatchHeader) -> None:
    """Write `header` into the first 61 bytes of `buffer`."""
    _HEADER.pack_into(buffer, 0, *header)


def batch_size(buffer: Buffer, at: int = 0) -> int:
    """Bytes of the batch at `at`, from its length field."""
    return LENGTH_PREFIX + int(_LENGTH.unpack_from(buffer, at + 8)[0])


def compute_crc(batch: memoryview) -> int:
    """CRC-32C over the part of one whole batch that its CRC covers."""
    return crc32c(batch[_CRC_FROM:])


def patch_crc(batch: bytearray | memoryview) -> None:
    """Write the CRC of one whole batch into it, after something the CRC covers has changed."""
    _CRC.pack_into(batch, _CRC_AT, compute_crc(memoryview(batch)))


def patch_assigned(
    buffer: bytearray | memoryview, at: int, header: BatchHeader, base_offset: int, epoch: int
) -> None:
    """Write offset and leader's epoch into the batch at `at`, whose header is `header`.

    The length between the two is written as it is: one call instead of two.
    """
    _ASSIGNED.pack_into(buffer, at, base_offset, header.batch_length, epoch)


def patch_max_timestamp(batch: memoryview, header: BatchHeader, timestamp_ms: int) -> BatchHeader:
    """Change `max_timestamp` of one whole batch; returns its new header."""
    _OFFSET.pack_into(batch, _MAX_TIMESTAMP_AT, timestamp_ms)
    patch_crc(batch)
    (crc,) = _CRC.unpack_from(batch, _CRC_AT)
    return header._replace(max_timestamp=timestamp_ms, crc=crc)


def patch_log_append_time(batch: memoryview, timestamp_ms: int) -> None:
    """Set the timestamp of one whole batch to the broker's time.

    Readers use `max_timestamp` for every record of such a batch, so no record changes.
    """
    attributes = int(_ATTRIBUTES.unpack_from(batch, _CRC_FROM)[0]) | LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(batch, _CRC_FROM, attributes)
    _OFFSET.pack_into(batch, _MAX_TIMESTAMP_AT, timestamp_ms)
    patch_crc(batch)

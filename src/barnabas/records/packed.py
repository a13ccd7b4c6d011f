"""The records of one batch, packed and compressed, before the producer's sequence is known.

A producer packs records once. Its id, its epoch and the sequence number come with `seal`, which
writes the 61 bytes of the header into the space that was left for them.
"""

from typing import NamedTuple

from barnabas.records.batch import (
    CONTROL,
    HEADER_SIZE,
    LENGTH_PREFIX,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    pack_header_into,
    patch_crc,
)
from barnabas.records.compression import Compression, compress


class PackedRecords(NamedTuple):
    """`buffer` has room for the header, then the records, compressed as `compression` says."""

    buffer: bytearray
    compression: Compression
    record_count: int
    base_timestamp: int
    max_timestamp: int

    @property
    def size(self) -> int:
        """Bytes of the batch, the header included."""
        return len(self.buffer)

    def seal(
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
        """The finished batch: `buffer` itself, whose header the next call may overwrite.

        With `log_append_time_ms` the batch gets that timestamp, as a broker does for
        LogAppendTime.
        """
        attributes = int(self.compression)
        max_timestamp = self.max_timestamp
        if log_append_time_ms is not None:
            attributes |= LOG_APPEND_TIME
            max_timestamp = log_append_time_ms
        if transactional:
            attributes |= TRANSACTIONAL
        if control:
            attributes |= CONTROL
        header = BatchHeader(
            base_offset=base_offset,
            batch_length=len(self.buffer) - LENGTH_PREFIX,
            partition_leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=attributes,
            last_offset_delta=self.record_count - 1,
            base_timestamp=self.base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            record_count=self.record_count,
        )
        pack_header_into(self.buffer, header)
        patch_crc(self.buffer)
        return self.buffer


def pack_payload(
    buffer: bytearray,
    compression: Compression,
    record_count: int,
    base_timestamp: int,
    max_timestamp: int,
) -> PackedRecords:
    """Compress the records in `buffer`, which are behind the space for the header."""
    if compression is not Compression.NONE:
        compressed = compress(compression, memoryview(buffer)[HEADER_SIZE:])
        buffer = bytearray().join((bytes(HEADER_SIZE), compressed))
    return PackedRecords(buffer, compression, record_count, base_timestamp, max_timestamp)

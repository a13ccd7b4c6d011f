"""Batches with a valid CRC whose records can't be decoded.

A producer has sent them that way, to a release that did not check records before it stored them. No
consumer gets past such a batch unless it skips it.
"""

from barnabas.records.batch import HEADER_SIZE, BatchHeader
from barnabas.records.check import check_records
from barnabas.records.compression import decompress
from barnabas.records.decode import DEFAULT_MAX_DECOMPRESSED_BYTES, MIN_RECORD_SIZE
from barnabas.records.errors import CorruptBatch

CURE = "stop the node and run `barnabas log repair`"


class UnreadableBatch(Exception):  # noqa: N818 - says what the bytes are
    """A batch with a right CRC whose records can't be read."""

    def __init__(self, header: BatchHeader, reason: str) -> None:
        super().__init__(
            f"the batch at offsets {header.base_offset} to {header.last_offset} holds records that "
            f"can't be read ({reason})"
        )
        self.header = header
        self.reason = reason


def readable_payload(header: BatchHeader, batch: memoryview) -> bytes:
    """The records of a batch whose CRC is right, uncompressed. Raises `UnreadableBatch`.

    Raises `DecompressionBomb` as well: with more memory such a batch may be readable.
    """
    try:
        payload = bytes(
            decompress(header.compression, batch[HEADER_SIZE:], DEFAULT_MAX_DECOMPRESSED_BYTES)
        )
        count = header.record_count
        if not 0 <= count * MIN_RECORD_SIZE <= len(payload):
            raise CorruptBatch(f"{count} records cannot fit in {len(payload)} bytes")
        base_timestamp = 0 if header.is_log_append_time else header.base_timestamp
        check_records(payload, 0, count, header.last_offset_delta, base_timestamp)
    except CorruptBatch as error:
        raise UnreadableBatch(header, str(error)) from error
    return payload

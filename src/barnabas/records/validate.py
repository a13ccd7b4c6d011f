"""What a broker checks before it stores the records of a Produce request.

All checks are per batch, never per record: an uncompressed batch is not read beyond its header but
for the CRC, a compressed one is decompressed once, to be sure that consumers can, and thrown away.
The error codes are those that Kafka answers with. Left out, since it needs a look at every record:
whether the records inside a batch are well-formed, and null keys on compacted topics.
"""

from struct import Struct

from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    compute_crc,
    parse_header,
)
from barnabas.records.compression import Compression, decompressed_size
from barnabas.records.decode import MIN_BATCH_LENGTH, MIN_RECORD_SIZE
from barnabas.records.errors import CorruptBatch, DecompressionBomb, InvalidBatch
from barnabas.records.record import NO_TIMESTAMP
from barnabas.wire.errors import ErrorCode

_MAX_COMPRESSION = max(Compression)
# batch_length, partition_leader_epoch and magic stand at the same place in every message format
_FRAME = Struct(">8xi4xb")


def validate_batches(
    records: memoryview, *, max_batch_bytes: int, max_decompressed_bytes: int
) -> list[tuple[int, BatchHeader]]:
    """The position and header of every batch in `records`; raises `InvalidBatch` if one is bad.

    A producer sends exactly one batch for a partition, and Kafka refuses more, so today the list
    has one element.
    """
    header = _plain_batch(records, max_batch_bytes)
    if header is None:
        header = _examine(records, max_batch_bytes, max_decompressed_bytes)
    return [(0, header)]


def _plain_batch(records: memoryview, max_batch_bytes: int) -> BatchHeader | None:
    """The header of a batch with nothing wrong or special about it, as nearly all are.

    One look at all fields together; `None` sends the batch to the checks that say what it is.
    """
    available = len(records)
    if not HEADER_SIZE < available <= max_batch_bytes:
        return None
    header = parse_header(records)
    base_offset, batch_length, _, magic, crc, attributes, last_offset_delta = header[:7]
    base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count = header[7:]
    if (
        magic == MAGIC
        and attributes == 0
        and base_offset == 0
        and batch_length == available - LENGTH_PREFIX
        and 0 < count == last_offset_delta + 1
        and count * MIN_RECORD_SIZE <= available - HEADER_SIZE
        and 0 <= base_timestamp <= max_timestamp
        and (
            producer_id == NO_PRODUCER_ID
            or (producer_id >= 0 and producer_epoch >= 0 and base_sequence >= 0)
        )
        and compute_crc(records) == crc
    ):
        return header
    return None


def _examine(records: memoryview, max_batch_bytes: int, max_decompressed_bytes: int) -> BatchHeader:
    """Every check by itself, so that a refusal can say what is wrong."""
    header = _check_frame(records)
    if header.size > max_batch_bytes:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch takes {header.size} bytes, at most {max_batch_bytes} are allowed",
        )
    if compute_crc(records) != header.crc:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, "the CRC of the batch does not match")
    _check_header(header)
    payload_bytes = len(records) - HEADER_SIZE
    if header.compression != Compression.NONE:
        payload_bytes = _check_payload(header, records, max_decompressed_bytes)
    if header.record_count * MIN_RECORD_SIZE > payload_bytes:
        raise _invalid(f"{header.record_count} records cannot fit in {payload_bytes} bytes")
    return header


def _invalid(message: str) -> InvalidBatch:
    return InvalidBatch(ErrorCode.INVALID_RECORD, message)


def _check_frame(records: memoryview) -> BatchHeader:
    """Check that `records` is one whole batch of format v2."""
    available = len(records)
    if available < _FRAME.size:
        raise _invalid(f"{available} bytes hold no batch")
    batch_length, magic = _FRAME.unpack_from(records)
    if magic != MAGIC:
        if magic in (0, 1):
            raise _invalid(f"message format {magic} is not supported, only 2 is")
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} is unknown")
    if batch_length < MIN_BATCH_LENGTH:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"batch length {batch_length} is too small")
    if available < HEADER_SIZE:
        raise _invalid(f"the batch is cut off after {available} bytes")
    header = parse_header(records)
    if header.size > available:
        raise _invalid(f"the batch takes {header.size} bytes, {available} were sent")
    if header.size < available:
        raise _invalid(f"{available - header.size} bytes behind the only batch allowed")
    return header


def _check_header(header: BatchHeader) -> None:
    """Check the fields that the CRC has shown to be what the client wanted to send."""
    if header.base_offset != 0:
        raise _invalid(f"base offset {header.base_offset} in a produced batch, it must be 0")
    if header.record_count < 1 or header.last_offset_delta != header.record_count - 1:
        raise _invalid(
            f"{header.record_count} records with a last offset delta of {header.last_offset_delta}"
        )
    if header.is_control:
        raise _invalid("clients may not write control batches")
    if header.compression > _MAX_COMPRESSION:
        raise InvalidBatch(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"compression id {header.compression} is unknown",
        )
    _check_timestamps(header)
    _check_producer(header)


def _check_timestamps(header: BatchHeader) -> None:
    base, latest = header.base_timestamp, header.max_timestamp
    if header.is_log_append_time:
        message = "producers may not set the timestamp type LogAppendTime"
    elif base < NO_TIMESTAMP or latest < NO_TIMESTAMP:
        message = f"negative timestamp {min(base, latest)}"
    elif latest < base and latest != NO_TIMESTAMP:
        message = f"max timestamp {latest} is before base timestamp {base}"
    else:
        return
    raise InvalidBatch(ErrorCode.INVALID_TIMESTAMP, message)


def _check_producer(header: BatchHeader) -> None:
    if header.has_producer:
        if header.producer_epoch < 0 or header.base_sequence < 0:
            raise _invalid(
                f"producer id {header.producer_id} with epoch {header.producer_epoch} "
                f"and sequence {header.base_sequence}"
            )
    elif header.producer_id != NO_PRODUCER_ID:
        raise _invalid(f"producer id {header.producer_id} is negative")
    elif header.is_transactional:
        raise _invalid("a transactional batch without a producer id")


def _check_payload(header: BatchHeader, records: memoryview, limit: int) -> int:
    """Decompress the records and return how many bytes they are."""
    try:
        return decompressed_size(header.compression, records[HEADER_SIZE:], limit)
    except DecompressionBomb as bomb:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE, f"{bomb} (max.decompressed.batch.bytes)"
        ) from bomb
    except CorruptBatch as corrupt:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"undecodable: {corrupt}") from corrupt

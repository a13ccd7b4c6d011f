"""The checks of a broker on the batch of a Produce request.

The header, the CRC, and then every record (see `check`), in a scratch buffer if the batch is
compressed. No record is decoded. Refusals have Kafka's error codes. They are stricter than Kafka's
in three cases: offset deltas that do not grow (Kafka stores those, or compresses the batch again),
timestamps before 1970 other than -1, and integers of more than 32 bits inside a record.

The caller checks what depends on a topic's settings, by the earliest and the latest timestamp and
the number of records without a key.
"""

from functools import partial
from struct import Struct

from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    Buffer,
    compute_crc,
    parse_header,
)
from barnabas.records.check import FoundRecord, RecordSummary, check_records, find_records
from barnabas.records.compression import Compression, inspect
from barnabas.records.decode import MIN_BATCH_LENGTH, MIN_RECORD_SIZE
from barnabas.records.decompression_budget import DecompressionBudget, OverBudget
from barnabas.records.errors import (
    CorruptBatch,
    CorruptPayload,
    DecompressionBomb,
    InvalidBatch,
    TimestampOverflow,
)
from barnabas.records.kernel import kernel
from barnabas.wire.errors import ErrorCode

_MAX_COMPRESSION = max(Compression)
# batch_length, partition_leader_epoch and magic have the same position in every message format
_FRAME = Struct(">8xi4xb")


CheckedBatch = tuple[BatchHeader, RecordSummary]


def validate_batch(
    records: memoryview,
    *,
    max_batch_bytes: int,
    max_decompressed_bytes: int,
    budget: DecompressionBudget | None = None,
) -> CheckedBatch:
    """The header of the only batch in `records`, and the summary of its records.

    A producer sends exactly one batch for a partition, and Kafka refuses more. The header's
    `max_timestamp` may differ from the records'. Raises `InvalidBatch`, or `OverBudget`.
    """
    return _plain_batch(records, max_batch_bytes) or _examine(
        records, max_batch_bytes, max_decompressed_bytes, budget
    )


def _plain_batch(records: memoryview, max_batch_bytes: int) -> CheckedBatch | None:
    """The fast path for a valid batch without special features, as nearly all are.

    Checks all fields together; `None` if the batch needs the separate checks.
    """
    available = len(records)
    if not HEADER_SIZE < available <= max_batch_bytes:
        return None
    header = parse_header(records)
    base_offset, batch_length, _, magic, crc, attributes, last_offset_delta = header[:7]
    base_timestamp, _, producer_id, producer_epoch, base_sequence, count = header[7:]
    if (
        magic == MAGIC
        and attributes == 0
        and base_offset == 0
        and batch_length == available - LENGTH_PREFIX
        and 0 < count == last_offset_delta + 1
        and (
            producer_id == NO_PRODUCER_ID
            or (producer_id >= 0 and producer_epoch >= 0 and base_sequence >= 0)
        )
        and kernel is not None
        and compute_crc(records) == crc
    ):
        summary = kernel.check_records(
            records, HEADER_SIZE, count, last_offset_delta, base_timestamp
        )
        if summary is not None:
            return header, summary
    return None


def _examine(
    records: memoryview,
    max_batch_bytes: int,
    max_decompressed_bytes: int,
    budget: DecompressionBudget | None,
) -> CheckedBatch:
    """Each check separately, so that a refusal has a reason."""
    header = _check_frame(records)
    if header.size > max_batch_bytes:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch takes {header.size} bytes, at most {max_batch_bytes} are allowed",
        )
    if compute_crc(records) != header.crc:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, "the CRC of the batch does not match")
    _check_header(header)
    try:
        if header.compression == Compression.NONE:
            return header, _check_payload(header, HEADER_SIZE, records)
        if budget is not None:
            return header, _within(budget, header, records, max_decompressed_bytes)
        look = partial(_check_payload, header, 0)
        summary = inspect(header.compression, records[HEADER_SIZE:], max_decompressed_bytes, look)
        return header, summary
    except DecompressionBomb as bomb:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE, f"{bomb} (max.decompressed.batch.bytes)"
        ) from bomb
    except CorruptPayload as corrupt:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"undecodable: {corrupt}") from corrupt
    except TimestampOverflow as overflow:
        raise InvalidBatch(ErrorCode.INVALID_TIMESTAMP, str(overflow)) from overflow
    except CorruptBatch as corrupt:
        raise _invalid(str(corrupt)) from corrupt


def _within(
    budget: DecompressionBudget, header: BatchHeader, records: memoryview, limit: int
) -> RecordSummary:
    """Decompress no more than the budget has left, and check the records."""
    affordable = budget.take(limit)
    if affordable <= 0:
        raise OverBudget
    used = affordable  # if the records are damaged, how much came before that is unknown

    def look(payload: Buffer) -> RecordSummary:
        nonlocal used
        used = len(payload)
        return _check_payload(header, 0, payload)

    try:
        return inspect(header.compression, records[HEADER_SIZE:], affordable, look)
    except DecompressionBomb:
        if affordable == limit:
            raise
        raise OverBudget from None
    finally:
        budget.settle(affordable, used)


def _check_payload(header: BatchHeader, at: int, payload: Buffer) -> RecordSummary:
    count, payload_bytes = header.record_count, len(payload) - at
    if count * MIN_RECORD_SIZE > payload_bytes:
        raise CorruptBatch(f"{count} records cannot fit in {payload_bytes} bytes")
    return check_records(payload, at, count, header.last_offset_delta, header.base_timestamp)


def refused_records(
    header: BatchHeader,
    batch: memoryview,
    *,
    from_timestamp: int,
    upto_timestamp: int,
    needs_key: bool,
    limit: int,
    max_decompressed_bytes: int,
) -> list[FoundRecord]:
    """The first `limit` records of a valid batch without a key or outside this range."""

    def look(payload: Buffer) -> list[FoundRecord]:
        return find_records(
            payload,
            0,
            header.record_count,
            header.base_timestamp,
            from_timestamp=from_timestamp,
            upto_timestamp=upto_timestamp,
            needs_key=needs_key,
            limit=limit,
        )

    limit_bytes = max(max_decompressed_bytes, len(batch))
    return inspect(header.compression, batch[HEADER_SIZE:], limit_bytes, look)


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
    """Check the fields of the header; the CRC is valid."""
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
    if header.is_log_append_time:
        raise InvalidBatch(
            ErrorCode.INVALID_TIMESTAMP,
            "producers may not set the timestamp type LogAppendTime",
        )
    _check_producer(header)


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

"""Batches for the tests of a log, made and read with the package's own codec."""

from collections.abc import Sequence

from barnabas.log import AppendInfo, Log, RecordsLost
from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.compression import Compression
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.decode import decode_records, iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.record import Record

Row = tuple[int, bytes | None, bytes | None]


def batch(
    rows: Sequence[Row],
    *,
    compression: Compression = Compression.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
    """A produced batch as `Log.append` wants it: a writable buffer, and where its batch is."""
    data = encode_batch(
        [(timestamp, key, value, ()) for timestamp, key, value in rows],
        compression=compression,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )
    return memoryview(data), [(0, parse_header(data))]


def write(
    log: Log, producer_id: int, *, epoch: int = 0, sequence: int = -1, size: int = 20, now: int = 0
) -> AppendInfo:
    """Append a batch of one record that is part of a producer's transaction."""
    buffer, batches = batch(
        [(now, b"k", b"v" * size)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    return log.append(buffer, batches, 0, now)


def end(
    log: Log,
    producer_id: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    now: int = 0,
) -> AppendInfo:
    """Append the marker that ends a producer's transaction."""
    data = encode_end_marker(
        ControlType.COMMIT if commit else ControlType.ABORT,
        timestamp_ms=now,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
    )
    return log.append(memoryview(data), [(0, parse_header(data))], 0, now)


def put(
    log: Log, *values: bytes, timestamp: int = 1000, epoch: int = 0, now: int = 0
) -> AppendInfo:
    """Append one batch of these values, all with one timestamp."""
    return log.append(*batch([(timestamp, None, value) for value in values]), epoch, now)


def read_all(log: Log, offset: int | None = None) -> list[Record]:
    """Every record from `offset`, or the log's start, by following reads as a consumer does.

    A consumer goes on behind the last offset of a batch, which may lie behind its last record.
    """
    records: list[Record] = []
    start = offset = log.log_start_offset if offset is None else offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20)
        if not data:
            break
        records += [record for record in decode_records(data) if record.offset >= start]
        offset = [header.next_offset for header, _ in iter_batches(data)][-1]
    return records


def values(log: Log) -> list[bytes | None]:
    return [record.value for record in read_all(log)]


def readable(log: Log) -> dict[int, bytes | None]:
    """The records of a log by their offset, passing over what it has lost."""
    found: dict[int, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            data = log.read(offset, 1 << 20)
        except RecordsLost:
            lost = log.lost_ranges.at(offset)
            assert lost is not None
            offset = lost.end
            continue
        if not data:
            break
        for header, one in iter_batches(data):
            found |= {r.offset: r.value for r in decode_records(one) if r.offset >= offset}
            offset = header.next_offset
    return found

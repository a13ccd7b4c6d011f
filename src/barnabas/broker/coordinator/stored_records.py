"""Reads an internal topic's log, record by record and in slices."""

from collections.abc import Iterator

from barnabas.log import Log, OffsetOutOfRange, StorageError
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record

_READ_BYTES = 1 << 20


def stored_records(log: Log) -> Iterator[Record]:
    """Every record from the log's start to its end, but for what is lost. Raises `StorageError`."""
    for batches in batch_slices(log, log.log_end_offset, _READ_BYTES):
        for _, records in batches:
            yield from records


def batch_slices(
    log: Log, end_offset: int, slice_bytes: int
) -> Iterator[list[tuple[BatchHeader, list[Record]]]]:
    """The batches before `end_offset`, which is a batch boundary, about `slice_bytes` at a time.

    What the log is known to have lost is left out. Raises `StorageError` if anything else can't be
    read. Other work runs between two slices, and may move the log start.
    """
    offset = log.log_start_offset
    while offset < end_offset:
        lost = log.lost_ranges.at(offset)
        if lost is not None:
            offset = lost.end
            continue
        try:
            batches = list(
                iter_batches(log.reader.read(offset, slice_bytes, upto_offset=end_offset))
            )
            if not batches:
                raise StorageError(f"{log.directory} holds nothing at offset {offset}")
            found: list[tuple[BatchHeader, list[Record]]] = []
            for header, batch in batches:
                records = [record for record in decode_batch(batch) if record.offset >= offset]
                found.append((header, records))
                offset = header.next_offset
        except (RecordsError, OffsetOutOfRange) as error:
            raise StorageError(
                f"{log.directory} can't be read from offset {offset} on: {error}; "
                "inspect it with `barnabas log dump`, and restore it from a backup"
            ) from error
        yield found
        offset = max(offset, log.log_start_offset)

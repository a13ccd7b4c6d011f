"""Reading a whole log of the broker's own, record by record, at the start."""

from collections.abc import Iterator

from barnabas.log import Log, StorageError
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record

_READ_BYTES = 1 << 20


def stored_records(log: Log) -> Iterator[Record]:
    """Every record from the log's start to its end. Raises `StorageError` if one can't be read."""
    offset = log.log_start_offset
    try:
        while offset < log.log_end_offset:
            batches = list(iter_batches(log.read(offset, _READ_BYTES)))
            if not batches:
                raise StorageError(f"{log.directory} holds nothing at offset {offset}")
            for header, batch in batches:
                yield from (record for record in decode_batch(batch) if record.offset >= offset)
                offset = header.next_offset
    except RecordsError as error:
        raise StorageError(
            f"{log.directory} can't be read from offset {offset} on: {error}; "
            "`barnabas log dump` shows the file, a backup is the way back"
        ) from error

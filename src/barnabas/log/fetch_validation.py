"""The checks of a follower before it stores fetched batches."""

from barnabas.log.offset_assignment import Batches
from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.errors import CorruptBatch


def checked_batches(records: memoryview, log_end_offset: int) -> tuple[memoryview, Batches]:
    """The part of `records` that continues a log which ends at `log_end_offset`, and its batches.

    Whole batches with a valid CRC and growing offsets. An incomplete last batch is left out, and
    so are batches that the log has already. Raises `CorruptBatch`.
    """
    start = at = 0
    batches: list[tuple[int, BatchHeader]] = []
    next_offset = log_end_offset
    for header, batch in iter_batches(records):
        at += header.size
        if header.next_offset <= log_end_offset and not batches:
            start = at
            continue
        if compute_crc(batch) != header.crc:
            raise CorruptBatch(f"the CRC of the batch at offset {header.base_offset} is wrong")
        if header.last_offset_delta < 0 or (batches and header.base_offset < next_offset):
            raise CorruptBatch(
                f"a batch from {header.base_offset} to {header.last_offset} follows "
                f"offset {next_offset - 1}"
            )
        batches.append((at - header.size - start, header))
        next_offset = header.next_offset
    return records[start:at], batches

"""The checks of a follower before it stores fetched batches."""

from barnabas.log.offset_assignment import Batches
from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.errors import CorruptBatch

MAX_EPOCH = 2**31 - 1


def checked_batches(
    records: memoryview, log_end_offset: int, last_epoch: int = -1, leader_epoch: int = MAX_EPOCH
) -> tuple[memoryview, Batches]:
    """The part of `records` that continues a log which ends at `log_end_offset`, and its batches.

    Whole batches with a valid CRC and growing offsets, whose epochs do not fall: none is earlier
    than the `last_epoch` of the log, or later than its leader's. The CRC does not cover epochs. An
    incomplete last batch is left out, and so are batches that the log has already. Raises
    `CorruptBatch`.
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
        epoch = header.partition_leader_epoch
        if not last_epoch <= epoch <= leader_epoch:
            raise CorruptBatch(
                f"the batch at offset {header.base_offset} is of leader epoch {epoch}, behind "
                f"epoch {last_epoch}, and the leader is in epoch {leader_epoch}"
            )
        last_epoch = epoch
        batches.append((at - header.size - start, header))
        next_offset = header.next_offset
    return records[start:at], batches

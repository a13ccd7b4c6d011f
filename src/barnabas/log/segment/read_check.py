"""Checks stored batches before the first reader gets them.

A segment that `log.state` lists with the size that it has is taken as it is when a log is opened.
So what was written before this process began is checked when it is first read: the CRC, and what
the CRC does not cover. Base offsets follow each other without a gap, unless a compaction has left
one, and `log.state` says which leader epoch began where.

What is checked once is not checked again: a segment remembers up to where it was read in order.
Batches that this process has appended, or scanned when it opened the log, need no check.
"""

from barnabas.log.errors import BatchDamaged
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.segment.scan import implausible
from barnabas.log.segment.segment import Segment
from barnabas.records.batch import HEADER_SIZE, compute_crc, parse_header


def check_batches(
    segment: Segment,
    offset: int,
    data: memoryview,
    epochs: LeaderEpochs | None,
    *,
    has_gaps: bool,
) -> None:
    """Check what was read from `offset` on. Raises `BatchDamaged`.

    `epochs` is None if the log does not know them.
    """
    path = segment.log.path
    if not data:
        raise BatchDamaged(f"{path} has no batch with offset {offset}")
    at, next_offset = 0, offset
    while at < len(data) and next_offset < segment.unchecked_upto:
        if len(data) - at < HEADER_SIZE:
            raise BatchDamaged(f"{path} has no whole batch at offset {next_offset}")
        header = parse_header(data, at)
        # The first batch may begin before the offset that the reader asked for.
        reason = implausible(header, next_offset if at else 0, len(data) - at)
        if reason is None and header.next_offset <= next_offset:
            reason = f"the batch ends at offset {header.next_offset}"
        if reason is None and header.base_offset > next_offset and not has_gaps:
            reason = f"the next batch begins at offset {header.base_offset}"
        if reason is None and header.next_offset > segment.next_offset:
            reason = f"the batch ends at offset {header.next_offset}, behind its segment"
        if reason is None and header.next_offset > segment.checked_upto:
            reason = _content_flaw(data[at : at + header.size], header.crc)
        if reason is None and epochs is not None:
            epoch = epochs.epoch_for(header.base_offset)
            if header.partition_leader_epoch != epoch >= 0:
                reason = f"its leader epoch is {header.partition_leader_epoch}, not {epoch}"
        if reason is not None:
            raise BatchDamaged(f"{path} is damaged at offset {next_offset}: {reason}")
        at += header.size
        next_offset = header.next_offset
    segment.checked(offset, next_offset)


def _content_flaw(batch: memoryview, expected_crc: int) -> str | None:
    crc = compute_crc(batch)
    return None if crc == expected_crc else f"CRC is {crc:#010x}, not {expected_crc:#010x}"

"""Offsets by timestamp, exact to the record.

The time index and the headers lead to the first batch that can hold the record; only that batch is
decoded. A header may have a larger timestamp than any record, so the search may have to go on.
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.log.errors import StorageError
from barnabas.log.segment.segment import Segment
from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import decode_batch
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record


class TimestampOffset(NamedTuple):
    """The position of a record found by its timestamp."""

    offset: int
    timestamp: int
    leader_epoch: int


def first_at_or_after(
    segments: Iterable[Segment], timestamp: int, log_start_offset: int
) -> TimestampOffset | None:
    """The first record from `log_start_offset` on whose timestamp is `timestamp` or later."""
    for segment in segments:
        if segment.max_timestamp < timestamp:
            continue
        start = max(_earliest_candidate(segment, timestamp), log_start_offset)
        for position, header in segment.headers(segment.locate(start)):
            if header.max_timestamp < timestamp:
                continue
            for record in _records(segment, position, header):
                if record.timestamp >= timestamp and record.offset >= log_start_offset:
                    return TimestampOffset(
                        record.offset, record.timestamp, header.partition_leader_epoch
                    )
    return None


def _earliest_candidate(segment: Segment, timestamp: int) -> int:
    """An offset before which no batch reaches `timestamp`.

    The index is believed only if the batch that its entry names has the entry's timestamp.
    """
    try:
        entry = segment.times.floor(0, timestamp)
    except OSError:
        entry = None
    if entry is not None:
        offset = segment.base_offset + entry[1]
        for _, header in segment.headers(segment.locate(offset)):
            if header.base_offset == offset and header.max_timestamp == entry[0]:
                return offset
            break
    return segment.base_offset


def _records(segment: Segment, position: int, header: BatchHeader) -> list[Record]:
    """The records of a batch; none if its CRC is right but they can't be decoded."""
    data = segment.log.file().read(header.size, position)
    try:
        return decode_batch(data)
    except RecordsError as error:
        if len(data) == header.size and compute_crc(memoryview(data)) == header.crc:
            return []
        raise StorageError(f"{segment.log.path} at position {position}: {error}") from error

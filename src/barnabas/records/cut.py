"""A part of a batch as a batch: some neighbouring records, with a header of their own.

A part keeps base offset and base timestamp, from which its records count, so their bytes stay as
they are. It is smaller than its batch if that is not compressed; a compressed one is not cut.
"""

from array import array

from barnabas.records.batch import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER_SIZE,
    LENGTH_PREFIX,
    BatchHeader,
    compute_crc,
    pack_header_into,
    patch_crc,
)
from barnabas.records.errors import CorruptBatch
from barnabas.records.varint import decode_varint

MAX_RECORDS = 50_000
"""Of a batch that can be cut: the position of each is kept."""


class BatchCutter:
    """Cuts one batch. It finds where records begin only once, and only as far as it was asked."""

    __slots__ = ("_header", "_starts")

    def __init__(self, header: BatchHeader) -> None:
        assert can_cut(header)
        self._header = header
        self._starts = array("L", [HEADER_SIZE])

    def is_for(self, header: BatchHeader) -> bool:
        """Whether it knows this batch; the CRC tells a batch from what has replaced it."""
        return self._header == header

    def cut(self, batch: memoryview, first: int, last: int) -> memoryview | None:
        """The records from offset `first` to `last`; None if the batch is not what its header says.

        The part has its own CRC, so that of the batch is checked here: a reader could not see any
        more that the batch is damaged.
        """
        header = self._header
        if compute_crc(batch) != header.crc:
            return None
        first_delta = max(first - header.base_offset, 0)
        last_delta = min(last - header.base_offset, header.last_offset_delta)
        try:
            self._find(batch, last_delta + 1)
            begin, end = self._starts[first_delta], self._starts[last_delta + 1]
            if _offset_delta(batch, begin) != first_delta:
                return None
            if _offset_delta(batch, self._starts[last_delta]) != last_delta:
                return None
        except (IndexError, CorruptBatch):
            return None
        part = bytearray(HEADER_SIZE + end - begin)
        part[HEADER_SIZE:] = batch[begin:end]
        pack_header_into(
            part,
            header._replace(
                batch_length=len(part) - LENGTH_PREFIX,
                last_offset_delta=last_delta,
                record_count=last_delta - first_delta + 1,
            ),
        )
        patch_crc(part)
        return memoryview(part)

    def _find(self, batch: memoryview, count: int) -> None:
        """Know where the first `count` records end. Raises `CorruptBatch` and IndexError."""
        starts, end = self._starts, len(batch)
        at = starts[-1]
        while len(starts) <= count:
            length, at = decode_varint(batch, at)
            at += length
            if length < 0 or at > end:
                raise CorruptBatch(f"a record of {length} bytes ends at {at} of {end}")
            starts.append(at)


def can_cut(header: BatchHeader) -> bool:
    """Whether a part of the batch is a smaller batch: no compression, and no gap in its offsets."""
    return (
        not header.attributes & (COMPRESSION_MASK | CONTROL)
        and header.last_offset_delta + 1 == header.record_count <= MAX_RECORDS
    )


def _offset_delta(batch: memoryview, at: int) -> int:
    _, at = decode_varint(batch, at)
    _, at = decode_varint(batch, at + 1)  # behind the attributes
    return decode_varint(batch, at)[0]

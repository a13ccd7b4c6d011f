"""Finding the next whole batch behind a damaged place of a segment file."""

from typing import NamedTuple

from barnabas.log.segment.scan import Flaw, implausible
from barnabas.log.storage import File
from barnabas.records.batch import (
    HEADER_SIZE,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    compute_crc,
    parse_header,
)

_WINDOW = 4 * 1024 * 1024


class FoundBatch(NamedTuple):
    position: int
    header: BatchHeader


def find_batch(file: File, position: int, size: int, next_offset: int = 0) -> FoundBatch | None:
    """The first whole batch, its CRC right, that starts at `position` or behind.

    Its offsets are `next_offset` or larger.
    """
    while position + HEADER_SIZE <= size:
        window = file.read(min(_WINDOW, size - position), position)
        magic_at = window.find(MAGIC, MAGIC_AT)
        while magic_at >= 0 and magic_at - MAGIC_AT + HEADER_SIZE <= len(window):
            at = magic_at - MAGIC_AT
            header = parse_header(window, at)
            if implausible(header, next_offset, size - position - at) is None:
                data = memoryview(window)[at : at + header.size]
                if len(data) < header.size:
                    data = memoryview(file.read(header.size, position + at))
                if compute_crc(data) == header.crc:
                    return FoundBatch(position + at, header)
            magic_at = window.find(MAGIC, magic_at + 1)
        if position + len(window) >= size or len(window) <= HEADER_SIZE:
            return None
        position += len(window) - HEADER_SIZE + 1
    return None


def batch_behind(file: File, flaw: Flaw, size: int, next_offset: int) -> FoundBatch | None:
    """The first whole batch behind a flaw.

    If only the content of the flawed batch is damaged, its length leads there; what looks like a
    batch inside of it is none.
    """
    header_bytes = file.read(HEADER_SIZE, flaw.position)
    if len(header_bytes) == HEADER_SIZE:
        flawed = parse_header(header_bytes)
        if implausible(flawed, next_offset, size - flaw.position) is None:
            behind = flaw.position + flawed.size
            found = find_batch(file, behind, size, next_offset)
            if found is not None and found.position == behind:
                return found
    return find_batch(file, flaw.position + 1, size, next_offset)

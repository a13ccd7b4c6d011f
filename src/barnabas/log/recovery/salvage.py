"""Saving what stands behind a damaged place of a segment.

The batches behind it go to a segment of their own, and the damaged bytes to a file that nobody
reads but people (`<first lost offset>.damaged`); then the segment is cut at the place. Whatever
crash comes between finds all of it again, or has it done already.
"""

from typing import NamedTuple

from barnabas.log.segment.scan import Flaw, implausible
from barnabas.log.segment.segment import segment_path
from barnabas.log.storage import Disk, File
from barnabas.records.batch import (
    HEADER_SIZE,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    compute_crc,
    parse_header,
)

DAMAGED_SUFFIX = ".damaged"
CLEANED_SUFFIX = ".cleaned"
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


def move_out(
    disk: Disk, directory: str, file: File, flaw: Flaw, size: int, first_lost: int
) -> int | None:
    """Bring all from a flaw on to files of their own; the caller cuts the segment then.

    Returns the base offset of the segment that the whole batches behind are in now; None if there
    are none.
    """
    found = batch_behind(file, flaw, size, first_lost)
    end = size if found is None else found.position
    _copy(disk, file, flaw.position, end, segment_path(directory, first_lost, DAMAGED_SUFFIX))
    base_offset = None
    if found is not None:
        base_offset = found.header.base_offset
        path = segment_path(directory, base_offset)
        if not disk.exists(path):
            _copy(disk, file, found.position, size, f"{path}{CLEANED_SUFFIX}")
            disk.rename(f"{path}{CLEANED_SUFFIX}", path)
    disk.sync_directory(directory)
    return base_offset


def _copy(disk: Disk, source: File, start: int, end: int, path: str) -> None:
    target = disk.open(path, create=True)
    try:
        target.truncate(0)
        for position in range(start, end, _WINDOW):
            data = source.read(min(_WINDOW, end - position), position)
            target.write(data, position - start)
        target.sync()
    finally:
        target.close()

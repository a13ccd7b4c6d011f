"""Reading a segment file that is not trusted: every batch is checked.

Nothing here raises on bad bytes; the scan ends with a `Flaw`, which has the position of the first
bytes that are no valid batch, and why.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.storage import File
from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    MAGIC,
    BatchHeader,
    compute_crc,
    parse_header,
)

_CHUNK = 1024 * 1024


class ScannedBatch(NamedTuple):
    """A batch whose header is plausible; `flaw` is set when its CRC is wrong."""

    position: int
    header: BatchHeader
    data: memoryview
    flaw: str | None


class Flaw(NamedTuple):
    """Where the valid batches end although the file does not."""

    position: int
    reason: str


def scan_batches(file: File, size: int) -> Iterator[ScannedBatch | Flaw]:
    """Every batch from the start of the file on, until its end or the first flaw.

    A batch with a wrong CRC is yielded with its flaw, since its length may still be right; a caller
    that wants only valid batches stops there. Each `data` is valid until the next one is read.
    """
    position = 0
    next_offset = 0
    chunk, chunk_at = memoryview(b""), 0
    while position < size:
        at = position - chunk_at
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_at, at = memoryview(file.read(_CHUNK, position)), position, 0
        if len(chunk) - at < HEADER_SIZE or size - position < HEADER_SIZE:
            yield Flaw(position, f"{size - position} bytes are left, fewer than a batch header")
            return
        header = parse_header(chunk, at)
        reason = implausible(header, next_offset, size - position)
        if reason is not None:
            yield Flaw(position, reason)
            return
        if at + header.size > len(chunk):
            wanted = max(_CHUNK, header.size)
            chunk, chunk_at, at = memoryview(file.read(wanted, position)), position, 0
        data = chunk[at : at + header.size]
        if len(data) < header.size:
            yield Flaw(position, "the file ends inside the batch")
            return
        crc = compute_crc(data)
        flaw = None if crc == header.crc else f"CRC is {crc:#010x}, not {header.crc:#010x}"
        yield ScannedBatch(position, header, data, flaw)
        next_offset = header.next_offset
        position += header.size


def implausible(header: BatchHeader, next_offset: int, room: int) -> str | None:
    """Why this cannot be the header of the next batch, or None if it can."""
    if header.batch_length == 0 and header.base_offset == 0 and header.magic == 0:
        return "zeros instead of a batch"
    if header.magic != MAGIC:
        return f"magic is {header.magic}, not {MAGIC}"
    if header.batch_length < HEADER_SIZE - LENGTH_PREFIX:
        return f"batch length {header.batch_length} is too small"
    if header.size > room:
        return f"the batch has {header.size} bytes, {room} are left"
    if header.base_offset < next_offset:
        return f"base offset {header.base_offset} is below the expected {next_offset}"
    if header.last_offset_delta < 0:
        return f"last offset delta is {header.last_offset_delta}"
    return None

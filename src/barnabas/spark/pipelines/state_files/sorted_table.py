"""RocksDB's sorted table, the block-based `.sst` file of format version 5, as Spark writes it.

    data blocks, index block, other blocks, footer of 53 bytes

The footer has the place of the index, and the index the places of the data blocks. Behind each
block is a byte for its compression, and a checksum which is not checked. In a block, an entry has
the length of what its key shares with the key before it, the lengths of the rest and of the value,
and both. Eight bytes at the end of a key hold its sequence number and what was done to it.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import cramjam

from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_FOOTER = 53
_MAGIC = 0x88E241B785F4CFF7
_VERSION = 5
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Entry(NamedTuple):
    """A key with its value at a sequence number; None if it was deleted then."""

    key: bytes
    newest_first: int
    value: bytes | None


def read_sorted_table(data: bytes) -> Iterator[Entry]:
    """All entries, by their keys, and the newest of a key first."""
    footer = data[-_FOOTER:]
    version, magic = struct.unpack_from("<IQ", footer, _FOOTER - 12)
    if magic != _MAGIC or version != _VERSION:
        raise UnreadableState(f"a sorted table of version {version}")
    _size, at = _varint(footer, 1)
    _size, at = _varint(footer, at)
    offset, at = _varint(footer, at)
    size, at = _varint(footer, at)
    for block_offset, block_size in _index(_block(data, offset, size)):
        for key, value in _entries(_block(data, block_offset, block_size)):
            (trailer,) = _U64.unpack_from(key, len(key) - 8)
            match trailer & 0xFF:
                case 1:
                    found: bytes | None = value
                case 0 | 7:
                    found = None
                case kind:
                    raise UnreadableState(f"an entry of kind {kind} in a sorted table")
            yield Entry(key[:-8], -(trailer >> 8), found)


def _block(data: bytes, offset: int, size: int) -> bytes:
    """A block without its compression and without the restart points at its end."""
    raw = data[offset : offset + size]
    match data[offset + size]:
        case 0:
            block = raw
        case 4:
            full_size, at = _varint(raw, 0)
            block = bytes(cramjam.lz4.decompress_block(raw[at:], output_len=full_size))
        case kind:
            raise UnreadableState(f"compression {kind} in a sorted table")
    (restarts,) = _U32.unpack_from(block, len(block) - 4)
    if restarts >> 31:
        raise UnreadableState("a sorted table with hashes in its blocks")
    return block[: len(block) - 4 - 4 * restarts]


def _index(block: bytes) -> Iterator[tuple[int, int]]:
    """Offset and size of each data block. Every entry is whole: the restart interval is 1."""
    at = 0
    while at < len(block):
        shared, at = _varint(block, at)
        rest, at = _varint(block, at)
        if shared:
            raise UnreadableState("a sorted table with deltas in its index")
        offset, at = _varint(block, at + rest)
        size, at = _varint(block, at)
        yield offset, size


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    at, key = 0, b""
    while at < len(block):
        shared, at = _varint(block, at)
        rest, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + rest]
        at += rest
        yield key, block[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7

"""The stream of LZ4 blocks that Java's `LZ4BlockOutputStream` writes.

A block is `LZ4Block`, a byte for the method and the level, and three little-endian integers: the
length compressed, the length decompressed and a checksum. An empty block ends the stream. Checksums
are not checked: the file system has its own in `.crc` files.
"""

import struct

import cramjam

from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_MAGIC = b"LZ4Block"
_HEADER = struct.Struct("<8sBiiI")


def decompress(data: bytes) -> bytes:
    """The whole content."""
    parts = []
    at = 0
    while at < len(data):
        magic, token, size, full_size, _checksum = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if magic != _MAGIC:
            raise UnreadableState("not a stream of LZ4 blocks")
        block = data[at : at + size]
        at += size
        match token & 0xF0:
            case 0x10:
                parts.append(block)
            case 0x20:
                parts.append(bytes(cramjam.lz4.decompress_block(block, output_len=full_size)))
            case method:
                raise UnreadableState(f"unknown method {method:#x} in a stream of LZ4 blocks")
    return b"".join(parts)

"""A batch with its records in another codec.

Only the block of records, the codec in the attributes, the length and the CRC change.
"""

from dataclasses import dataclass

from barnabas.records.batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LENGTH_PREFIX,
    MAGIC,
    Buffer,
    compute_crc,
    pack_header,
    parse_header,
    patch_crc,
)
from barnabas.records.compression import Compression, compress, decompress
from barnabas.records.errors import CorruptPayload, DecompressionBomb, UnsupportedCompression


@dataclass(frozen=True, slots=True)
class CompressionTarget:
    """The codec, and the level, of a topic's batches."""

    codec: Compression
    level: int | None = None
    """None: the codec's default."""

    def is_met(self, batch: Buffer) -> bool:
        """Whether a batch is in that codec already, or is too short to be one."""
        return len(batch) < HEADER_SIZE or parse_header(batch).compression == self.codec


def recompressed(
    batch: Buffer, target: CompressionTarget, *, max_batch_bytes: int, max_decompressed_bytes: int
) -> Buffer:
    """The batch compressed as `target` says; an invalid batch is returned as it is.

    Validation refuses such a batch later, with the reason.
    """
    view = memoryview(batch)
    if target.is_met(view) or len(view) > max_batch_bytes:
        return batch
    header = parse_header(view)
    if header.magic != MAGIC or header.size != len(view) or compute_crc(view) != header.crc:
        return batch
    try:
        records = decompress(header.compression, view[HEADER_SIZE:], max_decompressed_bytes)
    except (CorruptPayload, DecompressionBomb, UnsupportedCompression):
        return batch
    block = compress(target.codec, records, target.level)
    changed = header._replace(
        batch_length=HEADER_SIZE - LENGTH_PREFIX + len(block),
        attributes=header.attributes & ~COMPRESSION_MASK | target.codec,
    )
    made = bytearray(pack_header(changed)) + block
    patch_crc(made)
    return made

"""The codecs of Kafka's `compression.type`, and decompression with bounded memory.

A batch compresses its records as one block, everything behind the 61 bytes of its header:

    gzip     one or more gzip members
    snappy   xerial framing: 16 bytes (0x82 'SNAPPY' 0x00, int32 version, int32 lowest compatible
             version), then chunks of an int32 length and a raw snappy block. A single raw block
             without framing is read too, since librdkafka writes that.
    lz4      LZ4 frames with independent blocks; Java clients refuse linked ones, so the frame is
             assembled here from single blocks
    zstd     one or more zstd frames

`decompress` never allocates more than `limit` bytes of output and a scratch buffer of 1 MiB,
whatever sizes the input claims; the zstd decoder also has a window, no larger than the output so
far. Dictionaries are not supported: Kafka has none.
"""

from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import TypeVar

import cramjam

from barnabas.records.batch import Buffer
from barnabas.records.errors import CorruptPayload, DecompressionBomb, UnsupportedCompression

_INT32 = Struct(">i")
_LE_UINT32 = Struct("<I")

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + _INT32.pack(1) + _INT32.pack(1)
_XERIAL_CHUNK_BYTES = 32 * 1024

# Magic, FLG (version 1, independent blocks, no checksums: the batch has its own), BD (blocks of
# 64 KiB), and the second byte of the xxHash-32 of FLG and BD, which is constant as they are.
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x8000_0000
_LZ4_END = _LE_UINT32.pack(0)

# A copy element of three bytes makes at most 64: no snappy block grows more than that.
_SNAPPY_GROWTH = 64 / 3

_SCRATCH_BYTES = 1024 * 1024
_scratches: list[bytearray] = []
_OUTPUT_GROWTH = 4
_OUTPUT_IS_FULL = "failed to write whole buffer"

Seen = TypeVar("Seen")


class Compression(IntEnum):
    """A codec: its value is in the batch's attributes, its text in `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    def __str__(self) -> str:
        return self.name.lower()


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """`data` compressed as every Kafka client can read it; gzip and zstd have levels."""
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data, level=_GZIP_LEVEL if level is None else level))
        case Compression.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Compression.LZ4:
            return _compress_lz4(memoryview(data))
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL if level is None else level))


def decompress(codec: int, data: Buffer, limit: int) -> Buffer:
    """The decompressed bytes, at most `limit`.

    Raises `DecompressionBomb` if there is more, `CorruptPayload` if `data` is not of that codec
    and `UnsupportedCompression` if there is no such codec.
    """
    if codec == Compression.NONE:
        _check_limit(data, limit)
        return data
    scratch = _take_scratch()
    try:
        output, size = _decompress(codec, data, limit, scratch)
        result = memoryview(output)[:size]
        return bytes(result) if output is scratch else result
    finally:
        _scratches.append(scratch)


def inspect(codec: int, data: Buffer, limit: int, look: Callable[[Buffer], Seen]) -> Seen:
    """Call `look` with the decompressed bytes, without a copy; returns its result.

    Raises as `decompress` does. The buffer is used again as soon as this returns.
    """
    if codec == Compression.NONE:
        _check_limit(data, limit)
        return look(data)
    scratch = _take_scratch()
    try:
        output, size = _decompress(codec, data, limit, scratch)
        return look(memoryview(output)[:size])
    finally:
        _scratches.append(scratch)


def _take_scratch() -> bytearray:
    """An output buffer with resident pages: page faults cost more than lz4 itself.

    As many are kept as threads were ever decompressing at the same time.
    """
    try:
        return _scratches.pop()
    except IndexError:
        return bytearray(_SCRATCH_BYTES)


def _check_limit(data: Buffer, limit: int) -> None:
    if len(data) > limit:
        raise DecompressionBomb(f"{len(data)} bytes of records, the limit is {limit}")


def _decompress(codec: int, data: Buffer, limit: int, scratch: bytearray) -> tuple[bytearray, int]:
    """Decompress into `scratch`, or a larger buffer if necessary; returns which, and the size."""
    match codec:
        case Compression.GZIP:
            return _decompress_growing(cramjam.gzip.decompress_into, data, limit, scratch)
        case Compression.SNAPPY:
            return _decompress_snappy(memoryview(data), limit, scratch)
        case Compression.LZ4:
            return _decompress_growing(cramjam.lz4.decompress_into, data, limit, scratch)
        case Compression.ZSTD:
            return _decompress_growing(cramjam.zstd.decompress_into, data, limit, scratch)
    raise UnsupportedCompression(f"compression id {codec} is unknown")


def _decompress_growing(
    decompress_into: Callable[[Buffer, Buffer], int],
    data: Buffer,
    limit: int,
    scratch: bytearray,
) -> tuple[bytearray, int]:
    """Decompress into buffers, each four times as large as the last, until one is large enough.

    The failed attempts add up to at most a third of the last one, and none writes more than
    `limit` bytes.
    """
    output = scratch
    size = min(limit, len(output))
    while True:
        try:
            return output, decompress_into(data, memoryview(output)[:size])
        except cramjam.DecompressionError as error:
            if _OUTPUT_IS_FULL not in str(error):
                raise CorruptPayload(str(error)) from error
            if size == limit:
                raise DecompressionBomb(_exceeds(len(data), limit)) from error
        size = min(limit, size * _OUTPUT_GROWTH)
        output = scratch  # frees the last one before the next is allocated
        output = bytearray(size)


def _exceeds(size: int, limit: int) -> str:
    return f"{size} compressed bytes would decompress to more than {limit} bytes"


def _decompress_snappy(data: memoryview, limit: int, scratch: bytearray) -> tuple[bytearray, int]:
    """Decompress one raw block or xerial chunks, their claimed sizes checked before allocating."""
    is_xerial = data[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC
    blocks = _xerial_chunks(data) if is_xerial else [data]
    sizes = [_snappy_size(block) for block in blocks]
    total = sum(sizes)
    if total > limit:
        raise DecompressionBomb(_exceeds(len(data), limit))
    output = scratch if total <= len(scratch) else bytearray(total)
    view = memoryview(output)
    at = 0
    for block, size in zip(blocks, sizes, strict=True):
        try:
            cramjam.snappy.decompress_raw_into(block, view[at : at + size])
        except cramjam.DecompressionError as error:
            raise CorruptPayload(str(error)) from error
        at += size
    return output, total


def _snappy_size(block: memoryview) -> int:
    """The size a raw block claims, if a block of its length can hold that much at all."""
    try:
        size = int(cramjam.snappy.decompress_raw_len(block))
    except cramjam.DecompressionError as error:
        raise CorruptPayload(str(error)) from error
    if size > len(block) * _SNAPPY_GROWTH:
        raise CorruptPayload(f"snappy: {len(block)} bytes cannot hold the {size} they claim")
    return size


def _xerial_chunks(data: memoryview) -> list[memoryview]:
    """The raw blocks of xerial framing.

    The two versions in the header are ignored: Python clients write them in the machine's byte
    order, and there is only one.
    """
    chunks = []
    end = len(data)
    at = len(_XERIAL_HEADER)
    if end < at:
        raise CorruptPayload("snappy: the xerial header is cut off")
    while at < end:
        if end - at < _INT32.size:
            raise CorruptPayload("snappy: a xerial chunk length is cut off")
        (size,) = _INT32.unpack_from(data, at)
        at += _INT32.size
        if not 0 < size <= end - at:
            raise CorruptPayload(f"snappy: a xerial chunk of {size} bytes, {end - at} are left")
        chunks.append(data[at : at + size])
        at += size
    return chunks


def _compress_xerial(data: memoryview) -> bytes:
    parts: list[Buffer] = [_XERIAL_HEADER]
    for at in range(0, len(data), _XERIAL_CHUNK_BYTES):
        block = cramjam.snappy.compress_raw(data[at : at + _XERIAL_CHUNK_BYTES])
        parts += _INT32.pack(len(block)), memoryview(block)
    return b"".join(parts)


def _compress_lz4(data: memoryview) -> bytes:
    parts: list[Buffer] = [_LZ4_HEADER]
    for at in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[at : at + _LZ4_BLOCK_BYTES]
        block = memoryview(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += _LE_UINT32.pack(len(block)), block
        else:
            parts += _LE_UINT32.pack(len(plain) | _LZ4_STORED), plain
    parts.append(_LZ4_END)
    return b"".join(parts)

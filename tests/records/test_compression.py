"""Codecs: round trips, foreign framings, hostile input."""

import gzip
import random
import struct
import tracemalloc

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.compression import (
    Compression,
    compress,
    decompress,
    inspect,
)
from barnabas.records.errors import CorruptPayload, DecompressionBomb, UnsupportedCompression

MIB = 1024 * 1024
CODECS = [codec for codec in Compression if codec is not Compression.NONE]
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
LZ4_HEADER_4_MIB = bytes.fromhex("04224d18607073")
ZSTD_MAGIC = bytes.fromhex("28b52ffd")

each_codec = pytest.mark.parametrize("codec", CODECS, ids=str)


@pytest.fixture(autouse=True, scope="module")
def implementation() -> None:
    """The kernel has no part in this, so each test runs once."""


def compressible(size: int) -> bytes:
    words = [b"alpha ", b"beta ", b"gamma ", b"delta "]
    source = random.Random(size)
    return b"".join(source.choices(words, k=size // 5 + 1))[:size]


def zstd_rle_blocks(count: int) -> bytes:
    """Blocks of four bytes that each make 128 KiB of zeros."""
    header = (131072 << 3 | 1 << 1).to_bytes(3, "little")
    return (header + b"\x00") * count


def bomb(codec: Compression) -> bytes:
    """At most 1 MiB that makes as much as the codec can: gigabytes, but for snappy."""
    match codec:
        case Compression.GZIP:
            return gzip.compress(bytes(16 * MIB)) * 60
        case Compression.SNAPPY:
            chunk = bytes(cramjam.snappy.compress_raw(bytes(2 * MIB)))
            return XERIAL_HEADER + (struct.pack(">i", len(chunk)) + chunk) * 10
        case Compression.LZ4:
            block = bytes(cramjam.lz4.compress_block(bytes(4 * MIB), store_size=False))
            return LZ4_HEADER_4_MIB + (struct.pack("<I", len(block)) + block) * 60 + bytes(4)
        case _:
            return ZSTD_MAGIC + bytes([0, (27 - 10) << 3]) + zstd_rle_blocks(250_000)


def test_names_and_ids_are_kafkas() -> None:
    names = {codec.value: str(codec) for codec in Compression}
    assert names == {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


@pytest.mark.parametrize("codec", list(Compression), ids=str)
@given(data=st.binary(max_size=2000))
def test_round_trip(codec: Compression, data: bytes) -> None:
    compressed = compress(codec, data)
    assert decompress(codec, compressed, max(1, len(data))) == data
    assert inspect(codec, compressed, max(1, len(data)), bytes) == data


@each_codec
@pytest.mark.parametrize("size", [32768, 32769, 65536, 65537, 300_000, 1_500_000])
def test_round_trip_over_block_borders(codec: Compression, size: int) -> None:
    for data in (compressible(size), random.Random(1).randbytes(size)):
        compressed = compress(codec, memoryview(data))
        assert decompress(codec, memoryview(compressed), size) == data


@each_codec
def test_compression_compresses(codec: Compression) -> None:
    assert len(compress(codec, compressible(100_000))) < 50_000


@each_codec
def test_output_far_larger_than_the_first_buffer(codec: Compression) -> None:
    data = bytes(5_000_000)
    assert decompress(codec, compress(codec, data), len(data)) == data


@each_codec
@pytest.mark.parametrize("size", [1000, 400_000, 1_200_000])
def test_the_limit_is_exact(codec: Compression, size: int) -> None:
    compressed = compress(codec, compressible(size))
    assert len(decompress(codec, compressed, size)) == size
    with pytest.raises(DecompressionBomb, match=f"more than {size - 1} bytes"):
        decompress(codec, compressed, size - 1)
    with pytest.raises(DecompressionBomb, match=f"more than {size - 1} bytes"):
        inspect(codec, compressed, size - 1, pytest.fail)


@each_codec
def test_outputs_do_not_share_memory(codec: Compression) -> None:
    first, second = (decompress(codec, compress(codec, data), 9) for data in (b"first", b"2nd"))
    assert (first, second) == (b"first", b"2nd")


def test_the_limit_holds_without_compression() -> None:
    assert decompress(Compression.NONE, b"abc", 3) == b"abc"
    assert inspect(Compression.NONE, b"abc", 3, bytes) == b"abc"
    with pytest.raises(DecompressionBomb):
        decompress(Compression.NONE, b"abcd", 3)
    with pytest.raises(DecompressionBomb):
        inspect(Compression.NONE, b"abcd", 3, pytest.fail)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codec(codec: int) -> None:
    with pytest.raises(UnsupportedCompression, match=str(codec)):
        decompress(codec, b"abc", 100)


def test_gzip_and_zstd_of_several_members() -> None:
    assert decompress(1, gzip.compress(b"one ") + gzip.compress(b"two"), 100) == b"one two"
    two_frames = compress(Compression.ZSTD, b"one ") + compress(Compression.ZSTD, b"two")
    assert decompress(4, two_frames, 100) == b"one two"


def test_snappy_without_framing_is_read() -> None:
    data = compressible(90_000)
    assert decompress(2, bytes(cramjam.snappy.compress_raw(data)), len(data)) == data


def test_snappy_is_written_with_xerial_framing() -> None:
    data = compressible(70_000)
    framed = compress(Compression.SNAPPY, data)
    assert framed[:16] == XERIAL_HEADER
    at, chunks = 16, []
    while at < len(framed):
        (size,) = struct.unpack_from(">i", framed, at)
        chunks.append(bytes(cramjam.snappy.decompress_raw(framed[at + 4 : at + 4 + size])))
        at += 4 + size
    assert [len(chunk) for chunk in chunks] == [32768, 32768, 4464]
    assert b"".join(chunks) == data


def test_snappy_with_little_endian_versions_as_python_clients_write() -> None:
    chunk = bytes(cramjam.snappy.compress_raw(b"hello"))
    framed = b"\x82SNAPPY\x00" + struct.pack("<ii", 1, 1) + struct.pack(">i", len(chunk)) + chunk
    assert decompress(2, framed, 100) == b"hello"


def test_lz4_frames_have_independent_blocks() -> None:
    """Java's reader refuses frames whose blocks refer to the one before."""
    frame = compress(Compression.LZ4, compressible(200_000))
    assert frame[:4] == bytes.fromhex("04224d18")
    assert frame[4] & 0b1110_0000 == 0b0110_0000  # version 1, independent
    assert frame[-4:] == bytes(4)


def test_lz4_linked_blocks_and_checksums_are_read() -> None:
    data = compressible(200_000)
    frame = bytes(cramjam.lz4.compress(data))
    assert frame[4] & 0b0010_0000 == 0
    assert decompress(3, frame, len(data)) == data


@each_codec
def test_bombs_are_refused_in_bounded_memory(codec: Compression) -> None:
    hostile = bomb(codec)
    assert len(hostile) <= MIB
    limit = 8 * MIB
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionBomb):
            decompress(codec, hostile, limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit + 2 * MIB


@each_codec
def test_truncated_input_is_corrupt(codec: Compression) -> None:
    compressed = compress(codec, compressible(3000))
    for size in range(len(compressed)):
        # Cut right behind the header, xerial framing is just an empty list of chunks.
        if codec is Compression.SNAPPY and size == len(XERIAL_HEADER):
            continue
        with pytest.raises(CorruptPayload):
            decompress(codec, compressed[:size], 10_000)


@each_codec
@given(data=st.binary(max_size=200))
def test_random_bytes(codec: Compression, data: bytes) -> None:
    try:
        output = decompress(codec, data, 1000)
    except (CorruptPayload, DecompressionBomb):
        return
    assert len(output) <= 1000


@each_codec
@given(data=st.data())
def test_mutated_bytes(codec: Compression, data: st.DataObject) -> None:
    mutated = bytearray(compress(codec, compressible(3000)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, 30) | st.integers(0, len(mutated) - 1))
        mutated[at] = data.draw(st.integers(0, 255))
    try:
        output = decompress(codec, mutated, 3500)
    except (CorruptPayload, DecompressionBomb):
        return
    assert len(output) <= 3500


@pytest.mark.parametrize(
    ("codec", "hostile"),
    [
        (Compression.SNAPPY, b"\xff\xff\xff\xff\x0fabc"),
        (Compression.SNAPPY, b"\xff" * 20),
        (Compression.SNAPPY, XERIAL_HEADER[:12]),
        (Compression.SNAPPY, XERIAL_HEADER + b"\x00\x00"),
        (Compression.SNAPPY, XERIAL_HEADER + b"\x7f\xff\xff\xffab"),
        (Compression.SNAPPY, XERIAL_HEADER + b"\xff\xff\xff\xffab"),
        (Compression.SNAPPY, XERIAL_HEADER + b"\x00\x00\x00\x00"),
        (Compression.SNAPPY, XERIAL_HEADER + b"\x00\x00\x00\x08\xff\xff\xff\xff\x0fabc"),
        # zstd: a content size of 2**60, of 100 MiB, and a window of 2 GiB
        (Compression.ZSTD, ZSTD_MAGIC + b"\xe0" + struct.pack("<Q", 2**60) + zstd_rle_blocks(9)),
        (Compression.ZSTD, ZSTD_MAGIC + b"\xa0" + struct.pack("<I", 100 * MIB)),
        (Compression.ZSTD, ZSTD_MAGIC + bytes([0, (31 - 10) << 3]) + zstd_rle_blocks(9)),
    ],
)
def test_claimed_sizes_are_not_believed(codec: Compression, hostile: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CorruptPayload):
            decompress(codec, hostile, 200 * MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB

"""Batches put into another codec."""

import pytest

from barnabas.records.batch import HEADER_SIZE, Buffer, parse_header
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_records
from barnabas.records.encode import encode_batch
from barnabas.records.recompress import CompressionTarget, recompressed
from barnabas.records.validate import validate_batch

ROWS = [(1000 + n, b"key-%d" % n, b"value" * n, [("h", b"%d" % n)]) for n in range(50)]
LIMITS = {"max_batch_bytes": 1 << 20, "max_decompressed_bytes": 1 << 20}


def encoded(codec: Compression) -> bytes:
    return bytes(
        encode_batch(
            ROWS,
            compression=codec,
            producer_id=7,
            producer_epoch=2,
            base_sequence=11,
        )
    )


def put_into(batch: Buffer, codec: Compression, level: int | None = None) -> Buffer:
    return recompressed(batch, CompressionTarget(codec, level), **LIMITS)


CODECS = list(Compression)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_in_the_codec_stays_as_it_is(codec: Compression) -> None:
    batch = encoded(codec)
    assert put_into(batch, codec) is batch


# What decompresses does not know what compresses, so each codec is on each side once.
@pytest.mark.parametrize(("before", "after"), [*zip(CODECS, CODECS[1:] + CODECS[:1], strict=True)])
def test_only_the_codec_changes(before: Compression, after: Compression) -> None:
    batch = encoded(before)
    made = put_into(batch, after)
    header, _ = validate_batch(memoryview(made), **LIMITS)
    assert header.compression == after
    assert list(decode_records(made)) == list(decode_records(batch))
    old = parse_header(batch)
    changed = {"batch_length", "crc", "attributes"}
    for name in header._fields:
        assert (getattr(header, name) == getattr(old, name)) or name in changed, name


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Compression.GZIP, (1, 9)), (Compression.ZSTD, (-100, 19))],
)
def test_levels(codec: Compression, levels: tuple[int, int]) -> None:
    batch = encoded(Compression.NONE)
    fast, small = (put_into(batch, codec, level) for level in levels)
    assert len(small) < len(fast)
    assert list(decode_records(small)) == list(decode_records(fast)) == list(decode_records(batch))


@pytest.mark.parametrize("cut", [0, HEADER_SIZE - 1, HEADER_SIZE + 3, -1])
def test_what_can_not_be_stored_is_left_alone(cut: int) -> None:
    batch = encoded(Compression.LZ4)[:cut]
    assert put_into(batch, Compression.GZIP) is batch


def test_what_does_not_decompress_is_left_alone() -> None:
    batch = bytearray(encoded(Compression.LZ4))
    batch[-20] ^= 1
    assert put_into(batch, Compression.GZIP) is batch
    whole = encoded(Compression.LZ4)
    bomb = recompressed(
        whole,
        CompressionTarget(Compression.GZIP),
        max_batch_bytes=1 << 20,
        max_decompressed_bytes=10,
    )
    assert bomb is whole

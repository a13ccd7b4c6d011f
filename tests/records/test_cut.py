"""Parts of batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import parse_header, patch_crc
from barnabas.records.compression import Compression
from barnabas.records.cut import BatchCutter, can_cut
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch

BASE = 1_000


def stored(values: list[bytes | None], **fields: object) -> memoryview:
    rows = [(7 * at, b"k" if at % 2 else None, value, ()) for at, value in enumerate(values)]
    return memoryview(encode_batch(rows, base_offset=BASE, **fields))  # type: ignore[arg-type]


@given(
    st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=80),
    st.lists(st.tuples(st.integers(-5, 85), st.integers(0, 85)), min_size=1, max_size=5),
)
def test_a_part_has_the_records_of_its_range(
    values: list[bytes | None], ranges: list[tuple[int, int]]
) -> None:
    batch = stored(values)
    cutter = BatchCutter(parse_header(batch))
    for begin, size in ranges:
        first, last = BASE + min(begin, len(values) - 1), BASE + begin + size
        if last < BASE:
            continue
        part = cutter.cut(batch, first, max(first, last))
        assert part is not None
        expected = [
            each for each in decode_batch(batch) if first <= each.offset <= max(first, last)
        ]
        assert decode_batch(part) == expected
        assert parse_header(part).last_offset == expected[-1].offset


def test_compressed_batches_and_those_with_gaps_are_not_cut() -> None:
    assert can_cut(parse_header(stored([b"a", b"b"])))
    assert not can_cut(parse_header(stored([b"a", b"b"], compression=Compression.GZIP)))
    assert not can_cut(parse_header(stored([b"a", b"b"]))._replace(last_offset_delta=2))
    assert not can_cut(parse_header(stored([b"a", b"b"], control=True)))


@pytest.mark.parametrize("mends_crc", [False, True])
def test_a_damaged_batch_is_not_cut(mends_crc: bool) -> None:
    damaged = bytearray(stored([b"a" * 100, b"b" * 100, b"c" * 100]))
    damaged[61] = 2  # the first record's length
    if mends_crc:
        patch_crc(damaged)
    assert BatchCutter(parse_header(damaged)).cut(memoryview(damaged), BASE + 1, BASE + 1) is None

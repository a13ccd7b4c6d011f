"""Zigzag varints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.errors import CorruptBatch
from barnabas.records.varint import SMALL_VARINT_END, decode_varint, encode_varint

INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture(autouse=True, scope="module")
def implementation() -> None:
    """The kernel has no part in this, so each test runs once."""


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_known_values(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
    assert decode_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(INT64, st.binary(max_size=3), st.binary(max_size=3))
def test_round_trip_inside_other_bytes(value: int, before: bytes, after: bytes) -> None:
    encoded = encode_varint(value)
    data = before + encoded + after
    assert decode_varint(data, len(before)) == (value, len(before) + len(encoded))


def test_the_table_and_the_loop_agree_where_they_meet() -> None:
    for value in (SMALL_VARINT_END - 1, SMALL_VARINT_END):
        assert decode_varint(encode_varint(value), 0)[0] == value


@given(INT64)
def test_every_truncation_is_an_index_error(value: int) -> None:
    encoded = encode_varint(value)
    for size in range(len(encoded)):
        with pytest.raises(IndexError):
            decode_varint(encoded[:size], 0)


@pytest.mark.parametrize("hostile", [b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\xff" * 99])
def test_more_than_64_bits_are_refused(hostile: bytes) -> None:
    with pytest.raises(CorruptBatch, match="64 bits"):
        decode_varint(hostile, 0)

"""Lengths at the borders between one byte and two, where an encoding changes its form."""

import pytest

from barnabas.wire.primitives import Reader, Writer


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (129, "8101"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        (2**31 - 1, "ffffffff07"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_a_varint_has_as_few_bytes_as_possible(value: int, encoded: str) -> None:
    writer = Writer()
    writer.uvarint(value)
    assert writer.getvalue().hex() == encoded
    assert Reader(bytes.fromhex(encoded)).uvarint() == value


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384])
def test_texts_and_bytes_of_any_length(length: int) -> None:
    writer = Writer()
    writer.compact_string("x" * length)
    writer.compact_binary(b"y" * length)
    writer.compact_nullable_records(b"z" * length)
    writer.compact_array(length)
    reader = Reader(writer.getvalue() + bytes(length))
    assert reader.compact_string() == "x" * length
    assert reader.compact_binary() == b"y" * length
    assert bytes(reader.compact_nullable_records() or b"") == b"z" * length
    assert reader.compact_array() == length

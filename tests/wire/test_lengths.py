"""Lengths at the borders between one byte and two, where an encoding changes its form."""

import pytest

from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from barnabas.wire.messages.metadata_records import ConfigRecord
from barnabas.wire.primitives import Reader, WireError, Writer


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


LONGEST = 32_767


@pytest.mark.parametrize("text", ["x" * LONGEST, "é" * (LONGEST // 2)])
def test_a_string_has_at_most_32767_bytes(text: str) -> None:
    writer = Writer()
    writer.string(text)
    writer.compact_string(text)
    writer.compact_nullable_string(text)
    reader = Reader(writer.getvalue())
    assert reader.string() == text
    assert reader.compact_string() == text
    assert reader.compact_nullable_string() == text


@pytest.mark.parametrize("method", ["compact_string", "compact_nullable_string"])
@pytest.mark.parametrize("length", [LONGEST + 1, 1_000_000])
def test_a_longer_string_is_refused_before_it_is_read(method: str, length: int) -> None:
    writer = Writer()
    writer.uvarint(length + 1)
    data = writer.getvalue() + b"x" * length
    with pytest.raises(WireError, match=f"a string of {length} bytes"):
        getattr(Reader(data), method)()


@pytest.mark.parametrize(
    "method", ["string", "nullable_string", "compact_string", "compact_nullable_string"]
)
def test_a_longer_string_is_not_written(method: str) -> None:
    with pytest.raises(WireError, match="a string of 32768 bytes"):
        getattr(Writer(), method)("é" * 16_384)


def test_bytes_and_records_are_not_strings() -> None:
    writer = Writer()
    writer.compact_binary(b"y" * 100_000)
    writer.compact_nullable_records(b"z" * 100_000)
    reader = Reader(writer.getvalue())
    assert len(reader.compact_binary()) == 100_000
    assert len(reader.compact_nullable_records() or b"") == 100_000


@pytest.mark.parametrize("version", [2, 5, 7])
def test_an_error_message_is_cut(version: int) -> None:
    answer = CreateTopicsResponse(topics=[CreatableTopicResult("t", error_message="é" * 20_000)])
    writer = Writer()
    answer.encode(writer, version)
    (topic,) = CreateTopicsResponse.decode(Reader(writer.getvalue()), version).topics
    assert topic.error_message == "é" * 16_383


def test_what_an_earlier_release_has_stored_is_read_and_written_as_it_is() -> None:
    record = ConfigRecord(2, "t", "metrics", "x" * 100_000)
    assert decode_metadata_record(encode_metadata_record(record)) == record

"""Messages are the records of a batch, told where they stand."""

import gc
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records import decode, encode
from barnabas.records.compression import Compression
from barnabas.records.errors import CorruptBatch, DecompressionBomb
from barnabas.records.kernel import kernel
from barnabas.records.message import Message
from barnabas.records.record import Row
from tests.records.forged import record, with_payload
from tests.records.rows import ROWS
from tests.records.test_kernel import FIELD, in_python, outcome


def messages_of_records(batch: bytearray, start_offset: int) -> list[Message]:
    return [
        Message("t", 3, each.offset, each.timestamp, each.key, each.value, tuple(each.headers))
        for each in decode.decode_batch(batch)
        if each.offset >= start_offset
    ]


@given(
    ROWS,
    st.integers(0, 2**40),
    st.integers(-1, 20),
    st.none() | st.integers(0, 2**40),
    st.sampled_from(Compression),
)
def test_messages_are_the_records_from_an_offset_on(
    rows: list[Row],
    base_offset: int,
    skipped: int,
    append_time: int | None,
    compression: Compression,
) -> None:
    batch = encode.encode_batch(
        rows, base_offset=base_offset, log_append_time_ms=append_time, compression=compression
    )
    start = base_offset + skipped
    messages = decode.decode_messages(batch, "t", 3, start)
    assert messages == messages_of_records(batch, start)
    assert all(type(message) is Message for message in messages)


@given(
    st.lists(st.lists(FIELD | st.binary(max_size=4), max_size=9), max_size=3), st.integers(-1, 3)
)
def test_nearly_right_payloads_are_decoded_or_refused_alike(
    records: list[list[Any]], start_offset: int
) -> None:
    payload = b"".join(record(*fields) for fields in records)
    batch = with_payload(payload, record_count=len(records))
    with pytest.MonkeyPatch.context() as patch:

        def call() -> list[Message]:
            return decode.decode_messages(batch, "t", 0, start_offset)

        assert outcome(call) == in_python(patch, call)


@given(st.binary(max_size=60), st.integers(-1, 8), st.integers(-1, 3))
def test_random_payloads_are_decoded_or_refused_alike(
    payload: bytes, count: int, start_offset: int
) -> None:
    batch = with_payload(payload, record_count=count)
    with pytest.MonkeyPatch.context() as patch:

        def call() -> list[Message]:
            return decode.decode_messages(batch, "t", 0, start_offset)

        assert outcome(call) == in_python(patch, call)


def test_damage_before_the_first_wanted_record_shows() -> None:
    batch = with_payload(record(0, 0, 0, -1, 9) + record(0, 0, 1, -1, -1, 0), record_count=2)
    with pytest.raises(CorruptBatch):
        decode.decode_messages(batch, "t", 0, 1)


def test_a_bomb_is_not_opened() -> None:
    batch = encode.encode_batch([(0, None, bytes(1 << 16), ())], compression=Compression.GZIP)
    with pytest.raises(DecompressionBomb):
        decode.decode_messages(batch, "t", 0, limit=1 << 15)


def test_a_message_has_names_and_a_time() -> None:
    batch = encode.encode_batch([(1_500, b"k", None, (("h", b"x"),))], base_offset=7)
    [message] = decode.decode_messages(batch, "t", 3)
    assert message._asdict() == {
        "topic": "t",
        "partition": 3,
        "offset": 7,
        "timestamp_ms": 1_500,
        "key": b"k",
        "value": None,
        "headers": (("h", b"x"),),
    }
    assert message.timestamp == datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)


def test_the_collector_does_not_visit_the_messages_an_application_keeps(
    implementation: str,
) -> None:
    if implementation == "python":
        pytest.skip("about the kernel")
    messages = decode.decode_messages(encode.encode_batch([(0, b"k", b"v", ())] * 3), "t", 0)
    assert not any(map(gc.is_tracked, messages))


def test_messages_are_tuples_with_nothing_else(implementation: str) -> None:
    if implementation == "python" or kernel is None:
        pytest.skip("about the kernel")

    class WithDict(Message):
        pass

    for kind in (WithDict, list):
        with pytest.raises(TypeError, match="tuples"):
            kernel.decode_messages(kind, b"", 0, 0, 0, None, "t", 0, 0)  # type: ignore[arg-type]

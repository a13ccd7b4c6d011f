"""Decoding malformed batches: only declared errors, and memory in proportion to the input."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import parse_header, patch_crc
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch, decode_records
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch, DecompressionBomb
from barnabas.records.record import Row
from tests.records.forged import INT32_MAX, MALFORMED, record, with_payload

ROWS: list[Row] = [
    (1_700_000_000_000 + i, b"key", b"v" * 70, (("header", b"x"), ("null", None))) for i in range(5)
]


def test_the_forged_batches_of_this_file_are_valid_when_not_hostile() -> None:
    batch = with_payload(record(5, 0, 1, b"k", -1, 1, 1, b"h", -1))
    [decoded] = decode_batch(batch)
    assert decoded == (5, b"k", None, (("h", None),), 0)


@pytest.mark.parametrize("payload", MALFORMED)
def test_malformed_records_are_corrupt(payload: bytes) -> None:
    for compression in (Compression.NONE, Compression.LZ4):
        with pytest.raises(CorruptBatch):
            decode_batch(with_payload(payload, compression=compression))


def test_a_value_may_not_reach_into_the_next_record() -> None:
    second = record(0, 1, -1, -1, 0)
    first = record(0, 0, -1, 4, b"ab")
    with pytest.raises(CorruptBatch, match="from where its length says"):
        decode_batch(with_payload(first + second, record_count=2))


def test_a_record_may_not_hide_inside_another() -> None:
    hidden = record(0, 1, -1, -1, 0)
    with pytest.raises(CorruptBatch, match="from where its length says"):
        decode_batch(with_payload(record(0, 0, -1, -1, 0, hidden), record_count=2))


@pytest.mark.parametrize("record_count", [-1, -(2**31), 2, 1000, INT32_MAX])
def test_wrong_record_counts_are_corrupt_and_cost_nothing(record_count: int) -> None:
    batch = with_payload(record(0, 0, -1, -1, 0), record_count=record_count)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBatch):
            decode_batch(batch)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_a_negative_count_without_records_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="-1 records"):
        decode_batch(with_payload(b"", record_count=-1))


def test_a_batch_without_records_is_empty() -> None:
    """A log cleaner leaves such batches to keep a producer's last sequence."""
    assert decode_batch(with_payload(b"", record_count=0)) == []


def test_a_header_key_that_is_no_utf8_is_replaced() -> None:
    [decoded] = decode_batch(with_payload(record(0, 0, -1, -1, 1, 2, b"h\xff", -1)))
    assert decoded.headers == (("h\ufffd", None),)


def test_a_bomb_is_no_corrupt_batch() -> None:
    batch = encode_batch([(0, None, bytes(100_000), ())], compression=Compression.ZSTD)
    with pytest.raises(DecompressionBomb):
        decode_batch(batch, limit=10_000)
    with pytest.raises(DecompressionBomb):
        decode_records(batch, limit=10_000)


def test_every_truncation_and_extension_is_corrupt() -> None:
    batch = encode_batch(ROWS)
    for size in range(len(batch)):
        with pytest.raises(CorruptBatch):
            decode_batch(batch[:size])
    with pytest.raises(CorruptBatch):
        decode_batch(batch + b"\x00")


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_every_changed_byte_is_noticed_or_outside_the_crc(compression: Compression) -> None:
    batch = encode_batch(ROWS, compression=compression)
    harmless = {*range(8), *range(12, 16)}  # base offset and leader epoch: the broker's own
    for at in range(len(batch)):
        changed = bytearray(batch)
        changed[at] ^= 0xFF
        if at in harmless:
            assert [r.value for r in decode_batch(changed)] == [row[2] for row in ROWS]
        else:
            with pytest.raises(CorruptBatch):
                decode_batch(changed)


@given(st.binary(max_size=200), st.integers(0, 20))
def test_random_payloads(payload: bytes, record_count: int) -> None:
    try:
        records = decode_batch(with_payload(payload, record_count=record_count))
    except CorruptBatch:
        return
    assert len(records) == record_count


@given(data=st.data(), compression=st.sampled_from(Compression))
def test_mutated_batches_with_a_right_crc(data: st.DataObject, compression: Compression) -> None:
    batch = encode_batch(ROWS, compression=compression)
    for _ in range(data.draw(st.integers(1, 5))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    patch_crc(batch)
    try:
        records = decode_batch(batch, limit=10_000)
    except (CorruptBatch, DecompressionBomb):
        return
    assert len(records) == parse_header(batch).record_count


@given(st.binary(max_size=300))
def test_random_fetch_answers(answer: bytes) -> None:
    try:
        records = decode_records(answer)
    except CorruptBatch:
        return
    assert records == []

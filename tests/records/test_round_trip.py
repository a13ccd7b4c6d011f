"""Encoding and decoding batches: property round trips, known bytes, sizes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.records.batch import HEADER_SIZE, compute_crc, parse_header, patch_log_append_time
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch, decode_records, iter_batches
from barnabas.records.encode import BatchBuilder, encode_batch, max_record_size
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Record, Row
from tests.records.rows import ROWS
from tests.support.tier import examples

NOW = 1_700_000_000_000

# Two records laid out by hand from the format's description; the CRC is kafka-python's.
GOLDEN = bytes.fromhex(
    "0000000000000000"  # base offset
    "00000053"  # batch length: 49 + 22 + 12
    "ffffffff"  # leader epoch
    "02 1340f501"  # magic, CRC
    "0000 00000001"  # attributes, last offset delta
    "0000018bcfe56800 0000018bcfe56805"  # base and max timestamp
    "ffffffffffffffff ffff ffffffff"  # producer id, epoch, sequence
    "00000002"
    "2a 00 00 00 02 6b 0a 76616c7565 02 02 68 0c 686561646572"
    "16 00 0a 02 01 00 02 06 6e756c 01"
)
GOLDEN_ROWS: list[Row] = [
    (NOW, b"k", b"value", (("h", b"header"),)),
    (NOW + 5, None, b"", (("nul", None),)),
]


def rows_of(records: list[Record]) -> list[Row]:
    return [(r.timestamp, r.key, r.value, r.headers) for r in records]


def test_golden_bytes() -> None:
    assert encode_batch(GOLDEN_ROWS) == GOLDEN
    records = decode_batch(GOLDEN)
    assert rows_of(records) == GOLDEN_ROWS
    assert [record.offset for record in records] == [0, 1]


@pytest.mark.parametrize("compression", list(Compression), ids=str)
@settings(max_examples=examples(50))
@given(rows=ROWS, base_offset=st.integers(0, 2**62))
def test_round_trip(compression: Compression, rows: list[Row], base_offset: int) -> None:
    batch = encode_batch(rows, base_offset=base_offset, compression=compression)
    records = decode_batch(memoryview(batch))
    assert rows_of(records) == rows
    assert [r.offset for r in records] == list(range(base_offset, base_offset + len(rows)))
    assert encode_batch(records, base_offset=base_offset, compression=compression) == batch
    header = parse_header(batch)
    assert header.size == len(batch)
    assert header.crc == compute_crc(memoryview(batch))
    assert header.compression == compression
    assert header.record_count == len(rows)
    assert header.base_timestamp == rows[0][0]
    assert header.max_timestamp == max(row[0] for row in rows)
    assert header.next_offset == base_offset + len(rows)


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_round_trip_of_large_batches(compression: Compression) -> None:
    """Varints of one, two, three and more bytes everywhere one can stand."""
    rows: list[Row] = [
        (NOW + i * 7, b"%d" % i * (i % 50), b"v" * (i % 300), (("h" * (i % 70), b"x" * (i % 90)),))
        for i in range(9000)
    ]
    rows.append((0, b"k" * 10_000, b"v" * 2_000_000, tuple(("h", None) for _ in range(9000))))
    assert rows_of(decode_batch(encode_batch(rows, compression=compression))) == rows


def test_header_fields_and_flags() -> None:
    batch = encode_batch(
        [(NOW, None, b"v", ())],
        base_offset=7,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=2**31 - 1,
        leader_epoch=9,
        transactional=True,
        control=True,
    )
    header = parse_header(batch)
    assert header.base_offset == 7
    assert (header.producer_id, header.producer_epoch) == (2**40, 3)
    assert (header.base_sequence, header.partition_leader_epoch) == (2**31 - 1, 9)
    assert header.is_transactional
    assert header.is_control
    assert not header.is_log_append_time


def test_log_append_time_is_every_records_timestamp() -> None:
    rows: list[Row] = [(NOW - 5, None, b"a", ()), (NOW - 4, None, b"b", ())]
    written = encode_batch(rows, log_append_time_ms=NOW)
    patched = encode_batch(rows)
    patch_log_append_time(memoryview(patched), NOW)
    assert patched == written
    assert parse_header(written).is_log_append_time
    assert [record.timestamp for record in decode_batch(written)] == [NOW, NOW]


def test_an_empty_batch_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


@given(rows=ROWS)
def test_builder_knows_its_size_and_makes_the_same_batch(rows: list[Row]) -> None:
    builder = BatchBuilder()
    assert builder.size == HEADER_SIZE
    for i, row in enumerate(rows):
        before = builder.size
        assert builder.append(*row) == i
        assert before < builder.size <= before + max_record_size(*row[1:])
        assert builder.record_count == i + 1
    batch = builder.build()
    assert len(batch) == builder.size
    assert batch == encode_batch(rows)
    assert builder.build(producer_id=1, producer_epoch=2, base_sequence=3) == encode_batch(
        rows, producer_id=1, producer_epoch=2, base_sequence=3
    )


def test_max_record_size_holds_for_the_longest_varints() -> None:
    builder = BatchBuilder()
    builder.append(-(2**62), None, None)
    before = builder.size
    key, value = b"k" * 2**20, b"v" * 2**20
    builder.append(2**62, key, value)
    assert builder.size - before <= max_record_size(key, value)
    before = builder.size
    headers = [("\u00e9" * 2**20, b"x" * 2**20)] * 3
    builder.append(0, None, None, headers)
    assert builder.size - before <= max_record_size(None, None, headers)


def test_fetch_answer_of_several_batches() -> None:
    first = encode_batch([(NOW, None, b"a", ()), (NOW, None, b"b", ())], base_offset=10)
    control = encode_batch([(NOW, b"", b"", ())], base_offset=12, control=True)
    last = encode_batch([(NOW, None, b"c", ())], base_offset=13, compression=Compression.LZ4)
    answer = first + control + last
    batches = list(iter_batches(answer))
    assert [header.base_offset for header, _ in batches] == [10, 12, 13]
    assert [bytes(batch) for _, batch in batches] == [first, control, last]
    assert [(r.offset, r.value) for r in decode_records(answer)] == [
        (10, b"a"),
        (11, b"b"),
        (13, b"c"),
    ]


def test_a_truncated_last_batch_ends_the_answer() -> None:
    first = encode_batch([(NOW, None, b"a", ())])
    second = encode_batch([(NOW, None, b"b", ())], base_offset=1)
    for size in range(len(second)):
        assert [r.value for r in decode_records(first + second[:size])] == [b"a"]
    assert decode_records(b"") == []


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_in_a_fetch_answer_are_refused(magic: int) -> None:
    for size in (17, 34, 61, 80):
        message = bytearray(encode_batch([(NOW, None, b"a" * 50, ())]))[:size]
        message[16] = magic
        with pytest.raises(CorruptBatch, match=f"magic {magic}"):
            list(iter_batches(message))


@pytest.mark.parametrize("batch_length", [-(2**31), -1, 0, 48])
def test_impossible_lengths_in_a_fetch_answer_are_refused(batch_length: int) -> None:
    batch = encode_batch([(NOW, None, b"a" * 50, ())])
    batch[8:12] = batch_length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptBatch, match="batch length"):
        list(iter_batches(batch))

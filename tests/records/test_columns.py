"""Batches to columns: the same records as the ordinary decoder finds, or the same refusal."""

import re
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.records.batch import patch_crc, patch_log_append_time
from barnabas.records.columns import decoder as decoder_module
from barnabas.records.columns.decoder import ColumnDecoder
from barnabas.records.columns.schema import COLUMNS, SCHEMA
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch, DecompressionBomb, RecordsError
from barnabas.records.record import Row
from tests.records.forged import MALFORMED, record, with_payload
from tests.records.rows import ROWS
from tests.support.tier import examples

NOW = 1_700_000_000_000
PLAIN: list[Row] = [(NOW + i, b"key", b"v" * i, ()) for i in range(9)]
WITH_HEADERS: list[Row] = [
    (NOW, None, b"v", (("a", b"1"), ("\u00e9", None))),
    (NOW, b"k", None, ()),
    (NOW + 1, b"", b"", (("", b""),)),
]


def expected(topic: str, partition: int, batch: bytes, start_offset: int = 0) -> list[Any]:
    """The rows of a batch by way of the ordinary decoder."""
    time_type = batch[22] >> 3 & 1
    return [
        {
            "key": each.key,
            "value": each.value,
            "headers": [{"key": key, "value": value} for key, value in each.headers],
            "topic": topic,
            "partition": partition,
            "offset": each.offset,
            "timestamp": each.timestamp,
            "timestampType": time_type,
        }
        for each in decode_batch(batch)
        if each.offset >= start_offset
    ]


def rows_of(table: pa.Table) -> list[Any]:
    table.validate(full=True)
    if "timestamp" in table.schema.names:
        at = table.schema.names.index("timestamp")
        table = table.set_column(at, "timestamp", table["timestamp"].cast(pa.int64()))
    return table.to_pylist()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t", "other"]),
            st.integers(0, 2),
            ROWS,
            st.integers(0, 2**62),
            st.sampled_from(Compression),
            st.booleans(),
        ),
        max_size=4,
    )
)
@settings(max_examples=examples(40))
def test_columns_have_what_the_batches_have(batches: list[Any]) -> None:
    decoder = ColumnDecoder()
    wanted = []
    for topic, partition, rows, base_offset, compression, is_append_time in batches:
        batch = encode_batch(
            rows,
            base_offset=base_offset,
            compression=compression,
            log_append_time_ms=NOW if is_append_time else None,
        )
        assert decoder.append(topic, partition, batch) == len(rows)
        wanted += expected(topic, partition, batch)
    assert decoder.rows == len(wanted)
    table = decoder.finish()
    assert table.schema.equals(SCHEMA)
    assert rows_of(table) == wanted


@given(st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1), ROWS)
@settings(max_examples=examples(40))
def test_only_wanted_columns_are_there_in_the_order_asked_for(
    columns: list[str], rows: list[Row]
) -> None:
    decoder = ColumnDecoder(columns)
    batch = encode_batch(rows)
    decoder.append("t", 3, batch)
    decoder.append("t", 3, batch)
    table = decoder.finish()
    assert table.schema.names == columns
    once = [{name: row[name] for name in columns} for row in expected("t", 3, batch)]
    assert rows_of(table) == once * 2


@given(st.integers(95, 115), st.sampled_from([PLAIN, WITH_HEADERS]))
def test_records_before_the_start_are_left_out(start_offset: int, rows: list[Row]) -> None:
    decoder = ColumnDecoder()
    batch = encode_batch(rows, base_offset=100)
    wanted = expected("t", 0, batch, start_offset)
    assert decoder.append("t", 0, batch, start_offset=start_offset) == len(wanted)
    assert rows_of(decoder.finish()) == wanted


def test_a_decoder_starts_anew() -> None:
    decoder = ColumnDecoder()
    first = encode_batch(PLAIN)
    second = encode_batch(WITH_HEADERS, base_offset=9)
    decoder.append("t", 0, first)
    one = decoder.finish()
    assert decoder.rows == 0
    decoder.append("t", 0, second)
    two = decoder.finish()
    assert rows_of(one) == expected("t", 0, first)
    assert rows_of(two) == expected("t", 0, second)
    assert rows_of(decoder.finish()) == []


def test_large_tables_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "_CHUNK_BYTES", 300)
    decoder = ColumnDecoder()
    batch = encode_batch(PLAIN)
    for _ in range(10):
        decoder.append("t", 0, batch)
    table = decoder.finish()
    assert table["value"].num_chunks > 3
    assert rows_of(table) == expected("t", 0, batch) * 10


def test_a_stamped_batch_has_the_time_of_the_broker() -> None:
    batch = encode_batch(PLAIN)
    patch_log_append_time(memoryview(batch), NOW + 500)
    decoder = ColumnDecoder(["timestamp", "timestampType"])
    decoder.append("t", 0, batch)
    rows = rows_of(decoder.finish())
    assert rows == [{"timestamp": NOW + 500, "timestampType": 1}] * len(PLAIN)


def test_a_batch_without_records_adds_nothing() -> None:
    decoder = ColumnDecoder()
    assert decoder.append("t", 0, with_payload(b"", record_count=0)) == 0
    assert decoder.finish().num_rows == 0


def test_a_header_key_that_is_no_utf8_is_replaced() -> None:
    good = encode_batch(WITH_HEADERS)
    bad = with_payload(
        record(0, 0, -1, -1, 1, 2, b"h\xff", -1) + record(7, 1, 1, b"k", -1, 0), record_count=2
    )
    decoder = ColumnDecoder()
    for batch in (good, bad, good):
        decoder.append("t", 0, batch)
    wanted = expected("t", 0, good) + expected("t", 0, bad) + expected("t", 0, good)
    assert wanted[3]["headers"] == [{"key": "h\ufffd", "value": None}]
    assert rows_of(decoder.finish()) == wanted


@given(st.binary(max_size=8))
def test_header_keys_are_read_as_python_reads_utf8(key: bytes) -> None:
    batch = with_payload(record(0, 0, -1, -1, 1, len(key), key, -1))
    decoder = ColumnDecoder(["headers"])
    decoder.append("t", 0, batch)
    assert rows_of(decoder.finish()) == [
        {"headers": [{"key": key.decode(errors="replace"), "value": None}]}
    ]


@pytest.mark.parametrize("columns", [COLUMNS, ["value"]])
def test_what_leaves_64_bits_is_corrupt(columns: list[str]) -> None:
    offsets = encode_batch(PLAIN, base_offset=2**63 - 3)
    timestamps = encode_batch([(2**63 - 1, None, b"", ()), (0, None, b"", ())])
    timestamps[27:35] = (2**63 - 1).to_bytes(8, "big")
    timestamps[61 + 2] = 2  # the first record's timestamp delta, 1
    patch_crc(timestamps)
    decoder = ColumnDecoder(columns)
    for batch in (offsets, timestamps):
        with pytest.raises(CorruptBatch, match=r"do(es)? not fit a column"):
            decoder.append("t", 0, batch)
    assert decoder.finish().num_rows == 0


def check_against_the_ordinary_decoder(batch: bytes) -> None:
    """Between two good batches, which must not notice."""
    good = encode_batch(WITH_HEADERS)
    decoder = ColumnDecoder()
    decoder.append("t", 0, good)
    wanted = expected("t", 0, good)
    try:
        of_batch = expected("t", 0, batch, -(2**63))
    except RecordsError as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            decoder.append("t", 0, batch)
    else:
        numbers = [row[name] for row in of_batch for name in ("offset", "timestamp")]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            decoder.append("t", 0, batch, start_offset=-(2**63))
            wanted += of_batch
        else:
            with pytest.raises(CorruptBatch):
                decoder.append("t", 0, batch, start_offset=-(2**63))
    decoder.append("t", 0, good)
    assert rows_of(decoder.finish()) == wanted + expected("t", 0, good)


@pytest.mark.parametrize("payload", MALFORMED)
def test_malformed_records_are_corrupt(payload: bytes) -> None:
    with pytest.raises(CorruptBatch):
        ColumnDecoder(["value"]).append("t", 0, with_payload(payload))
    check_against_the_ordinary_decoder(with_payload(payload))


@pytest.mark.parametrize("columns", [COLUMNS, ["key", "value"]])
def test_half_a_batch_leaves_nothing_behind(columns: list[str]) -> None:
    decoder = ColumnDecoder(columns)
    nulls = encode_batch([(NOW, None, None, (("h", None),))] * 3)
    decoder.append("t", 0, nulls)
    good = record(0, 0, 1, b"k", 1, b"v", 1, 1, b"h", 1, b"x")
    with pytest.raises(CorruptBatch):
        decoder.append("t", 0, with_payload(good * 9 + bytes(9), record_count=10))
    decoder.append("t", 0, nulls)
    wanted = [{name: row[name] for name in columns} for row in expected("t", 0, nulls)]
    assert rows_of(decoder.finish()) == wanted * 2


@given(st.binary(max_size=60), st.integers(-1, 8))
def test_random_payloads(payload: bytes, count: int) -> None:
    check_against_the_ordinary_decoder(with_payload(payload, record_count=count))


FIELD = st.integers(-3, 5) | st.sampled_from([2**31 - 1, 2**62, -(2**63), 2**63 - 1])


@given(st.lists(st.lists(FIELD | st.binary(max_size=4), max_size=9), max_size=3))
def test_nearly_right_payloads(records: list[list[Any]]) -> None:
    payload = b"".join(record(*fields) for fields in records)
    check_against_the_ordinary_decoder(with_payload(payload, record_count=len(records)))


@given(st.sampled_from([PLAIN, WITH_HEADERS]), st.data())
def test_mutated_batches_with_a_right_crc(rows: list[Row], data: st.DataObject) -> None:
    batch = encode_batch(rows)
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(16, len(batch) - 1))] = data.draw(st.integers(0, 255))
    patch_crc(batch)
    check_against_the_ordinary_decoder(batch)


def test_a_bomb_is_refused() -> None:
    decoder = ColumnDecoder(limit=10_000)
    batch = encode_batch([(0, None, bytes(100_000), ())], compression=Compression.ZSTD)
    with pytest.raises(DecompressionBomb):
        decoder.append("t", 0, batch)


def test_unknown_columns_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no such column: values; there are key, value"):
        ColumnDecoder(["key", "values"])


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "barnabas.records.columns")
    with pytest.raises(ImportError, match=r"pip install 'barnabas\[arrow\]'"):
        import barnabas.records.columns  # noqa: F401

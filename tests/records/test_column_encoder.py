"""Columns to batches: to the byte what the ordinary encoder makes of the same rows."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.records.batch import HEADER_SIZE
from barnabas.records.columns.decoder import ColumnDecoder
from barnabas.records.columns.encoder import ColumnEncoder
from barnabas.records.columns.partitioning import partitions_for_keys, rows_by_partition
from barnabas.records.columns.schema import SCHEMA
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch, max_record_size
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Row
from tests.records.rows import ROWS
from tests.support.tier import examples

NOW = 1_700_000_000_000
LARGE = 2**30


def table_of(rows: list[Row]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "timestamp": pa.array([row[0] for row in rows], pa.int64()),
            "key": pa.array([row[1] for row in rows], pa.binary()),
            "value": pa.array([row[2] for row in rows], pa.binary()),
            "headers": pa.array(
                [[{"key": k, "value": v} for k, v in row[3]] for row in rows],
                SCHEMA.field("headers").type,
            ),
        }
    )


def greedy(rows: list[Row], max_bytes: int) -> list[list[Row]]:
    """The rows of each batch, as the producer's accumulator would divide them."""
    batches: list[list[Row]] = []
    size = 0
    for row in rows:
        bound = max_record_size(*row[1:])
        if not batches or size + bound > max_bytes:
            batches.append([])
            size = HEADER_SIZE
        batches[-1].append(row)
        size += bound
    return batches


@given(ROWS, st.sampled_from(Compression), st.integers(0, 1000))
@settings(max_examples=examples(40))
def test_batches_are_those_of_the_ordinary_encoder(
    rows: list[Row], compression: Compression, max_bytes: int
) -> None:
    packed = ColumnEncoder(table_of(rows), timestamp_ms=0).pack(
        max_bytes=max_bytes, compression=compression
    )
    batches = [
        (each.record_count, bytes(each.seal(producer_id=7, producer_epoch=1, base_sequence=5)))
        for each in packed
    ]
    assert batches == [
        (
            len(batch),
            encode_batch(
                batch,
                compression=compression,
                producer_id=7,
                producer_epoch=1,
                base_sequence=5,
            ),
        )
        for batch in greedy(rows, max_bytes)
    ]


@pytest.mark.parametrize(("spare", "batches"), [(0, 1), (-1, 2)])
def test_a_batch_may_be_just_as_large_as_allowed(spare: int, batches: int) -> None:
    rows: list[Row] = [(NOW, b"key", b"value", (("h", b"x"),))] * 10
    limit = HEADER_SIZE + 10 * max_record_size(*rows[0][1:])
    packed = ColumnEncoder(table_of(rows), timestamp_ms=0).pack(max_bytes=limit + spare)
    assert len(list(packed)) == batches


@given(ROWS, st.data())
@settings(max_examples=examples(40))
def test_any_rows_of_any_slice(rows: list[Row], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(rows)))
    sliced = table_of(rows).slice(begin)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - begin - 1))) if begin < len(rows) else []
    before = data.draw(st.integers(0, 3))
    numbers = pa.array([0] * before + chosen, pa.uint64()).slice(before)
    encoder = ColumnEncoder(sliced, timestamp_ms=0)
    assert encoder.rows == len(rows) - begin
    packed = list(encoder.pack(numbers, max_bytes=LARGE))
    wanted = [rows[begin + i] for i in chosen]
    assert [each.seal() for each in packed] == ([encode_batch(wanted)] if wanted else [])


def test_packed_records_may_be_sealed_again() -> None:
    rows: list[Row] = [(NOW, b"k", b"v", ())]
    [packed] = ColumnEncoder(table_of(rows), timestamp_ms=0).pack(
        max_bytes=LARGE, compression=Compression.LZ4
    )
    first = bytes(packed.seal(producer_id=1, producer_epoch=0, base_sequence=0))
    second = bytes(packed.seal(producer_id=2, producer_epoch=0, base_sequence=9))
    assert packed.size == len(first)
    assert first == encode_batch(
        rows, compression=Compression.LZ4, producer_id=1, producer_epoch=0, base_sequence=0
    )
    assert second == encode_batch(
        rows, compression=Compression.LZ4, producer_id=2, producer_epoch=0, base_sequence=9
    )


@pytest.mark.parametrize(
    "type_",
    [
        pa.string(),
        pa.binary(),
        pa.large_string(),
        pa.large_binary(),
        pa.string_view(),
        pa.binary_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ],
    ids=str,
)
def test_keys_and_values_of_many_types(type_: pa.DataType) -> None:
    column = pa.array(["a", None, "", "\u00e9"], pa.string()).cast(type_)
    [packed] = ColumnEncoder(
        pa.record_batch({"key": column, "value": column}), timestamp_ms=NOW
    ).pack(max_bytes=LARGE)
    texts = [b"a", None, b"", "\u00e9".encode()]
    assert packed.seal() == encode_batch([(NOW, text, text, ()) for text in texts])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_and_none(unit: str) -> None:
    seconds = pa.array([1_700_000_000, None], pa.timestamp("s", tz="Europe/Berlin"))
    timestamp = seconds.cast(pa.timestamp(unit, tz="Europe/Berlin"))
    [packed] = ColumnEncoder(pa.record_batch({"timestamp": timestamp}), timestamp_ms=NOW + 5).pack(
        max_bytes=LARGE
    )
    assert packed.seal() == encode_batch([(NOW, None, None, ()), (NOW + 5, None, None, ())])


def test_headers_may_be_a_map_or_null_or_missing() -> None:
    value = pa.array([b"1", b"2"])
    as_map = pa.array([[("h", b"x")], None], pa.map_(pa.string(), pa.binary()))
    for headers, wanted in (
        (as_map, [(("h", b"x"),), ()]),
        (pa.nulls(2), [(), ()]),
        (pa.array([None, None], SCHEMA.field("headers").type), [(), ()]),
    ):
        records = pa.record_batch({"value": value, "headers": headers})
        [packed] = ColumnEncoder(records, timestamp_ms=NOW).pack(max_bytes=LARGE)
        rows = zip([b"1", b"2"], wanted, strict=True)
        assert packed.seal() == encode_batch([(NOW, None, text, each) for text, each in rows])


def test_what_was_decoded_can_be_encoded() -> None:
    batch = encode_batch([(NOW, b"k", None, (("h", None),)), (NOW + 1, None, b"v", ())])
    decoder = ColumnDecoder()
    decoder.append("t", 0, batch)
    [records] = decoder.finish().to_batches()
    [packed] = ColumnEncoder(records, timestamp_ms=0).pack(max_bytes=LARGE)
    assert packed.seal() == batch


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"key": pa.array([1])}, TypeError, "column key is int64, and can't be made binary"),
        ({"value": pa.array([[b""]])}, TypeError, "column value is list"),
        ({"headers": pa.array([b""])}, TypeError, "column headers is binary"),
        ({"timestamp": pa.array(["now"])}, TypeError, "column timestamp is string"),
        (
            {"headers": pa.array([[{"key": None, "value": b""}]], SCHEMA.field("headers").type)},
            ValueError,
            "key of one, is null",
        ),
        (
            {"headers": pa.array([[None]], SCHEMA.field("headers").type)},
            ValueError,
            "a header, or",
        ),
    ],
)
def test_columns_of_other_kinds_are_refused(
    columns: dict[str, pa.Array], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ColumnEncoder(pa.record_batch(columns), timestamp_ms=NOW)


def test_row_numbers_of_other_kinds_are_refused() -> None:
    encoder = ColumnEncoder(table_of([(NOW, None, None, ())]), timestamp_ms=0)
    for numbers in (pa.array([0]), pa.array([0, None], pa.uint64())):
        with pytest.raises(TypeError, match="row numbers are uint64"):
            list(encoder.pack(numbers, max_bytes=LARGE))
    with pytest.raises((ValueError, IndexError)):
        list(encoder.pack(pa.array([1], pa.uint64()), max_bytes=LARGE))


def test_timestamps_too_far_apart_are_refused() -> None:
    rows: list[Row] = [(2**62, None, None, ()), (-(2**62) - 1, None, None, ())]
    with pytest.raises(ValueError, match="too far apart"):
        list(ColumnEncoder(table_of(rows), timestamp_ms=0).pack(max_bytes=LARGE))


@given(st.lists(st.none() | st.binary(max_size=100), max_size=20), st.integers(1, 50), st.data())
def test_partitions_of_keys(keys: list[bytes | None], count: int, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(keys)))
    column = pa.array(keys, data.draw(st.sampled_from([pa.binary(), pa.large_binary()])))
    partitions = partitions_for_keys(column.slice(begin), count)
    assert partitions.type == pa.int32()
    assert partitions.to_pylist() == [
        None if key is None else partition_for_key(key, count) for key in keys[begin:]
    ]


def test_partitions_of_text() -> None:
    assert partitions_for_keys(pa.array(["foobar"]), 7).to_pylist() == [
        partition_for_key(b"foobar", 7)
    ]
    with pytest.raises(ValueError, match="0 partitions"):
        partitions_for_keys(pa.array(["foobar"]), 0)


@given(st.lists(st.integers(0, 5), max_size=50))
def test_rows_of_a_partition_keep_their_order(partitions: list[int]) -> None:
    wanted: dict[int, list[Any]] = {}
    for row, partition in enumerate(partitions):
        wanted.setdefault(partition, []).append(row)
    found = rows_by_partition(pa.array(partitions, pa.int32()))
    assert {partition: rows.to_pylist() for partition, rows in found.items()} == wanted


def test_a_row_without_a_partition_is_refused() -> None:
    with pytest.raises(ValueError, match="no partition"):
        rows_by_partition(pa.array([0, None], pa.int32()))

"""Rows that a reader makes of records: which columns they have, and what becomes of dead ones."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from barnabas.records.columns.schema import SCHEMA
from barnabas.spark.dead_letters.dead_record import DeadRecord
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.source.record_decoding import DecodedForm, RecordDecoding, UndecodableValue
from barnabas.spark.source.row_condition import Comparison

FIELDS = StructType(
    [
        StructField("id", IntegerType(), False),
        StructField("key", StringType()),
        StructField("place", StructType([StructField("x", IntegerType())])),
    ]
)
VALUES = (b'{"id": 1, "key": "a", "place": {"x": 5}}', b"nonsense", b'{"id": 3}', None)
DECODING = RecordDecoding(Decoding("json", FIELDS), ("key", "offset"), "skip")


def records() -> pa.Table:
    rows = [
        {
            "key": b"k%d" % number,
            "value": value,
            "headers": [{"key": "h", "value": b"1"}],
            "topic": "t",
            "partition": 2,
            "offset": 7 + number,
            "timestamp": 1_000,
            "timestampType": 0,
        }
        for number, value in enumerate(VALUES)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def rows_of(decoding: RecordDecoding) -> list[dict[str, object]]:
    form = DecodedForm(RecordDecoding.from_option(decoding.option()))
    return [
        row for batch in form.batches(records().select(form.columns)) for row in batch.to_pylist()
    ]


def test_columns_of_record_and_value_may_have_the_same_name() -> None:
    assert rows_of(DECODING) == [
        {"record:key": b"k0", "record:offset": 7, "id": 1, "key": "a", "place": {"x": 5}},
        {"record:key": b"k2", "record:offset": 9, "id": 3, "key": None, "place": None},
    ]


def test_only_what_is_used_is_made() -> None:
    used = DECODING.using([("record:offset",), ("key",)])
    assert rows_of(used) == [
        {"record:offset": 7, "key": "a"},
        {"record:offset": 9, "key": None},
    ]
    assert used.covers([("key",), ("record:offset",)])
    assert not used.covers([("id",)])
    assert not DECODING.using([("place", "x")]).covers([("place",)])
    assert DECODING.using([("place",)]).covers([("place", "x")])


def test_rows_that_are_not_used_may_be_left_out() -> None:
    condition = ((Comparison("=", ("id",), (3,)),),)
    used = DECODING.using([("record:offset",), ("id",)], condition)
    assert rows_of(used) == [{"record:offset": 9, "id": 3}]
    assert used.covers([("id",)], condition)
    assert not used.covers([("id",)], ((Comparison("=", ("id",), (1,)),),))
    assert not used.covers([("id",)])
    assert DECODING.covers([("id",)], condition)
    everything = DECODING.using(None, condition)
    assert [each["id"] for each in rows_of(everything)] == [3]
    assert everything.covers(None, condition)
    assert not used.covers(None, condition)


def test_rows_are_counted_also_if_nothing_of_them_is_used() -> None:
    assert rows_of(DECODING.using([])) == [{"record:partition": 2}] * 2


def test_an_error_names_the_first_record() -> None:
    with pytest.raises(UndecodableValue, match=r"^the record t:2@8 can't be decoded: .* nonsense$"):
        rows_of(replace(DECODING, undecodable="fail"))


def test_only_dead_records_with_their_reasons() -> None:
    found = rows_of(replace(DECODING, undecodable="only"))
    assert [(each["offset"], each["value"], each["reason"]) for each in found] == [
        (8, b"nonsense", "the value is not a JSON object: nonsense"),
        (10, None, "the record has no value"),
    ]


@dataclass(frozen=True)
class Kept:
    """A target that remembers."""

    seen: ClassVar[list[str]] = []

    def open(self) -> "Kept":
        self.seen.append("opened")
        return self

    def take(self, records: Iterable[DeadRecord]) -> None:
        self.seen.extend(
            f"{each.partition}@{each.offset} {each.headers} {each.reason}" for each in records
        )

    def flush(self) -> None:
        self.seen.append("flushed")


def test_dead_letters_are_written_before_the_rows_of_their_batch() -> None:
    form = DecodedForm(replace(DECODING, letters=Kept()))
    batches = form.batches(records().select(form.columns))
    assert Kept.seen == []
    assert next(batches).num_rows == 2
    assert Kept.seen == [
        "opened",
        "t-2@8 [('h', b'1')] the value is not a JSON object: nonsense",
        "t-2@10 [('h', b'1')] the record has no value",
        "flushed",
    ]

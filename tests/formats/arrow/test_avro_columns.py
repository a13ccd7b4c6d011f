"""Which columns Avro types have, and what happens to values that do not fit them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_columns import NoColumnError, avro_columns
from tests.formats.arrow.decoding import WAYS, decode, parsed, record, rows, written


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(avro_kernel, "kernel", None)


FIXED = {"type": "fixed", "name": "F", "size": 2}
UID = UUID(int=7)


def one(writer: Any, reader: Any, value: Any, **other: Any) -> Any:
    """What a value of one type is when it is read as another."""
    of_writer, of_reader = record(writer), record(reader)
    found = decode(of_reader, [(of_writer, written(of_writer, {"f0": value}))], **other)
    return found.reasons[0] if found.dead else rows(of_reader, found)[0]["f0"]


def field(name: str, kind: Any, **other: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **other}


def test_a_union_of_several_types_has_a_field_for_each() -> None:
    kind = ["null", "string", "long", record("int", name="Inner")]
    assert one(kind, kind, None) is None
    assert one(kind, kind, "a") == {"member0": "a", "member1": None, "member2": None}
    assert one(kind, kind, {"f0": 3})["member2"] == {"f0": 3}
    assert one("long", kind, 7) == {"member0": None, "member1": 7, "member2": None}


def test_numbers_of_a_union_are_one_column() -> None:
    assert one(["int", "long"], ["null", "int", "long"], 1 << 40) == 1 << 40
    assert one(["float", "double"], ["float", "double"], 0.5) == 0.5


@pytest.mark.parametrize(
    ("writer", "reader", "value", "is_read_as"),
    [
        ("string", ["null", "string"], "a", "a"),
        (["null", "string"], "string", "a", "a"),
        ("int", "double", 3, 3.0),
        ("null", "null", None, None),
        ({"type": "string", "logicalType": "uuid"}, "string", UID, str(UID)),
        ({"type": "long", "logicalType": "time-micros"}, "long", 5, 5),
        (FIXED, FIXED, b"ab", b"ab"),
    ],
)
def test_values_that_fit(writer: Any, reader: Any, value: Any, is_read_as: Any) -> None:
    assert one(writer, reader, value) == is_read_as


@pytest.mark.parametrize(
    ("unit", "number"),
    [
        ("millis", 1_700_000_000_123),
        ("micros", 1_700_000_000_123_000),
        ("nanos", 1_700_000_000_123_000_999),
    ],
)
@pytest.mark.parametrize("reader", ["timestamp-millis", "timestamp-micros", "timestamp-nanos"])
def test_a_time_keeps_its_unit(unit: str, number: int, reader: str) -> None:
    writer = {"type": "long", "logicalType": f"timestamp-{unit}"}
    found = one(writer, {"type": "long", "logicalType": reader}, number)
    assert found == datetime(2023, 11, 14, 22, 13, 20, 123000, UTC)


def test_a_time_before_1970_is_rounded_down() -> None:
    kind = {"type": "long", "logicalType": "timestamp-nanos"}
    assert one(kind, kind, -1) == datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)


def test_local_times_have_no_zone() -> None:
    kind = {"type": "long", "logicalType": "local-timestamp-micros"}
    assert one(kind, kind, 1_000_000) == datetime(1970, 1, 1, 0, 0, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("writer", "reader", "value", "reason"),
    [
        (["null", "int"], "int", None, "f0: was written as null, which can't be read as int"),
        ("string", "int", "a", "f0: was written as string, which can't be read as int"),
        ("long", "int", 1, "f0: was written as long, which can't be read as int"),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "B",
            "f0: the enum has no symbol for what was written",
        ),
        (
            record("int", name="Paid"),
            record("int", name="Refunded"),
            {"f0": 1},
            "f0: was written as record Paid, which can't be read as record Refunded",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 3},
            Decimal("1.25"),
            "f0: was written with 2 decimal places, and is read with 3",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            Decimal("1000.00"),
            "f0: it has more than 5 digits",
        ),
        ("bytes", "string", b"\xff", "f0: it is not UTF-8"),
    ],
)
def test_a_value_that_does_not_fit_says_why(
    writer: Any, reader: Any, value: Any, reason: str
) -> None:
    assert one(writer, reader, value) == reason


def test_an_unknown_symbol_has_the_default_of_the_enum() -> None:
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    reader = {"type": "enum", "name": "E", "symbols": ["A", "X"], "default": "X"}
    assert [one(writer, reader, each) for each in "AB"] == ["A", "X"]


def test_a_field_that_was_not_written_has_its_default_or_is_null() -> None:
    writer = record(field("a", "int"))
    reader = record(field("a", "int"), field("b", "string", default="x"), field("c", "long"))
    values = [(writer, written(writer, {"a": 1}))]
    strict = decode(reader, values)
    assert strict.reasons == ["c: was not written, and has no default"]
    lenient = decode(reader, values, is_lenient=True)
    assert rows(reader, lenient) == [{"a": 1, "b": "x", "c": None}]


def test_a_renamed_field_is_found_by_both_names() -> None:
    former, later = record(field("a", "int")), record(field("b", "int", aliases=["a"]))
    values = [(former, written(former, {"a": 1})), (later, written(later, {"b": 2}))]
    assert rows(former, decode(former, values)) == [{"a": 1}, {"a": 2}]
    assert rows(later, decode(later, values)) == [{"b": 1}, {"b": 2}]


def test_records_without_a_value() -> None:
    optional, required = record(["null", "int"]), record("int", ["null", "int"])
    assert rows(optional, decode(optional, [(optional, None)])) == [{"f0": None}]
    assert decode(required, [(required, None)]).reasons == ["the record has no value"]


def test_only_what_is_used_is_built() -> None:
    inner = record("string", "int", name="Inner")
    reader = record("int", inner, {"type": "array", "items": "Inner"}, ["null", "string"])
    value = {"f0": 1, "f1": {"f0": "a", "f1": 2}, "f2": [{"f0": "b", "f1": 3}], "f3": "c"}
    found = decode(reader, [(reader, written(reader, value))], [("f1", "f1"), ("f2",)])
    assert [each.to_pylist() for each in found.columns] == [
        [{"f0": None, "f1": 2}],
        [[{"f0": "b", "f1": 3}]],
    ]


def test_what_is_not_used_is_checked() -> None:
    writer, reader = record("bytes", "int"), record("string", "int")
    values = [(writer, written(writer, {"f0": b"\xff", "f1": 1}))]
    assert decode(reader, values, [("f1",)]).reasons == ["f0: it is not UTF-8"]


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [field("children", {"type": "array", "items": "Tree"})],
}


def test_a_type_that_holds_itself_has_no_columns() -> None:
    with pytest.raises(NoColumnError, match="children: Tree holds itself"):
        avro_columns(parsed(TREE))


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"children": []}
    for _ in range(depth):
        value = {"children": [value]}
    return value


def test_a_type_that_holds_itself_is_passed_over() -> None:
    writer = record(field("a", "int"), field("tree", TREE))
    reader = record(field("a", "int"))
    deep = b"\2" + b"\2" * 5_000 + b"\0" * 5_001
    values = [(writer, written(writer, {"a": 1, "tree": nested(20)})), (writer, deep)]
    found = decode(reader, values)
    assert rows(reader, found) == [{"a": 1}]
    assert found.reasons == ["it is nested more than 100 deep"]


def test_items_without_bytes_are_bounded() -> None:
    reader = record({"type": "array", "items": "null"})
    few, many = b"\x14\0", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"  # 10, and 2 ** 63 - 1
    found = decode(reader, [(reader, few), (reader, many), (reader, b"\1\0" + few)])
    assert rows(reader, found)[0] == {"f0": [None] * 10}
    assert found.reasons[0] == "more than 1000 items have no bytes"


def test_blocks_may_have_a_size() -> None:
    reader = record({"type": "array", "items": "int"})
    found = decode(reader, [(reader, b"\3\4\2\4\2\6\0")])
    assert rows(reader, found) == [{"f0": [1, 2, 3]}]


def test_maps_are_maps() -> None:
    reader = record({"type": "map", "values": ["null", "long"]})
    found = decode(reader, [(reader, written(reader, {"f0": {"a": 1, "b": None}}))])
    assert found.columns[0].type == pa.map_(pa.string(), pa.int64())
    assert found.columns[0].to_pylist() == [[("a", 1), ("b", None)]]

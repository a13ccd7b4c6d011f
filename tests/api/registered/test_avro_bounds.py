"""Avro data of a few bytes that would end the process, or fill its memory.

Anyone who may write to a topic sends it, and consumers, pipelines and the console read it.
"""

import json
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from barnabas.formats.avro import avro
from barnabas.formats.avro_bounds import MAX_DEPTH
from barnabas.formats.registered.parsed import avro_schema
from barnabas.formats.registered.reader import reader_of
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import header

NULLS = {"type": "array", "items": "null"}
RECORDS = {"type": "array", "items": {"type": "record", "name": "Empty", "fields": []}}
FIXED = {"type": "map", "values": {"type": "fixed", "name": "None", "size": 0}}
LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
TREE = {
    "type": "record",
    "name": "T",
    "fields": [{"name": "inner", "type": {"type": "array", "items": "T"}}],
}
MILLIONS = b"\x80\xa8\xd6\xb9\x07"  # 1,000,000,000 items follow


@dataclass
class Item:
    """A class with a schema of its own."""

    next: str


def registered(schema: Any) -> RegisteredSchema:
    return RegisteredSchema(1, "AVRO", json.dumps(schema), ())


def read(schema: Any, data: bytes) -> Any:
    return reader_of(registered(schema))(header(1) + data)


def chain(length: int, width: int) -> Any:
    """Records that each have the one before by its name, in `width` fields."""
    fields: list[Any] = [{"name": "first", "type": record("R0", [])}]
    for number in range(1, length):
        inner = [{"name": f"f{each}", "type": f"R{number - 1}"} for each in range(width)]
        fields.append({"name": f"f{number}", "type": record(f"R{number}", inner)})
    return record("Root", fields)


def record(name: str, fields: list[Any]) -> Any:
    return {"type": "record", "name": name, "fields": fields}


@pytest.mark.parametrize("schema", [LIST, TREE])
def test_data_as_deep_as_it_is_long_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match=f"nested more than {MAX_DEPTH} deep"):
        read(schema, b"\x02" * 1_000_000)


@pytest.mark.parametrize("schema", [NULLS, RECORDS])
def test_items_without_bytes_are_counted(schema: Any) -> None:
    with pytest.raises(ValueError, match="too many values without data"):
        read(schema, MILLIONS + b"\0")


def test_what_is_repeated_may_have_values_without_bytes() -> None:
    """A record of a thousand nulls and one byte, a thousand times."""
    nulls = [{"name": f"n{each}", "type": "null"} for each in range(1_000)]
    many = record("Many", [{"name": "one", "type": "boolean"}, *nulls])
    for items in (many, ["null", many]):
        index = b"\x02" * isinstance(items, list)
        data = b"\xd0\x0f" + (index + b"\x01") * 1_000 + b"\0"
        with pytest.raises(ValueError, match="too many values without data"):
            read({"type": "array", "items": items}, data)


def test_few_of_them_are_read() -> None:
    assert read(NULLS, b"\x06\0") == [None] * 3
    assert read(RECORDS, b"\x04\0") == [{}, {}]
    assert read(FIXED, b"\x02\x02a\0") == {"a": b""}
    assert read(LIST, b"\x02\x02\0") == {"next": {"next": {"next": None}}}
    assert read(TREE, b"\x03\x04\0\0\0") == {"inner": [{"inner": []}, {"inner": []}]}


@pytest.mark.parametrize(
    ("length", "width", "problem"),
    [(1_000, 1, f"nested more than {MAX_DEPTH} deep"), (40, 2, "values without data")],
)
def test_a_schema_whose_smallest_record_is_huge_is_refused(
    length: int, width: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        read(chain(length, width), b"")


def test_data_that_is_cut_off_is_refused() -> None:
    whole = b"\x02\x02\0"
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="ends too early"):
            read(LIST, whole[:end])
    with pytest.raises(ValueError, match="no branch 2"):
        read(LIST, b"\x04")
    with pytest.raises(ValueError, match="more than 64 bits"):
        read(LIST, b"\xff" * 11)


def test_the_deepest_data_fits_into_a_small_stack() -> None:
    """Threads have half a megabyte on some systems."""
    found: list[Any] = []
    earlier = threading.stack_size(512 * 1024)
    try:
        deepest = b"\x02" * (MAX_DEPTH // 2 - 1) + b"\0"
        thread = threading.Thread(target=lambda: found.append(read(LIST, deepest)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(earlier)
    assert len(found) == 1


def test_all_types_are_walked_through() -> None:
    """What comes after them is found at its place."""
    names = ("int", "long", "float", "double", "boolean", "string", "bytes", "null")
    fields: list[Any] = [{"name": f"f_{each}", "type": each} for each in names]
    fields += [
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["a", "b"]}},
        {"name": "bits", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "named", "type": {"type": "map", "values": "int"}},
        {"name": "next", "type": ["null", "Whole"]},
    ]
    one = b"\x02\x80\x01" + bytes(12) + b"\x01\x04ab\x02c" + b"\x02xyz\x02\x02\x02a\x02\0"
    found = read(record("Whole", fields), one + b"\x02" + one + b"\0")
    assert found["next"]["bits"] == b"xyz"
    assert found["next"]["next"] is None


def test_data_that_takes_long_to_check_has_a_limit_where_others_wait() -> None:
    """In the console, which reads many records of others in turn."""
    limited = reader_of(registered(TREE), 1_000)
    assert limited(header(1) + b"\0") == {"inner": []}
    with pytest.raises(ValueError, match="at most 1000 bytes are read here"):
        limited(header(1) + b"\x80\x10" + bytes(1_024 + 1))


def test_most_schemas_need_no_look_at_the_data() -> None:
    inner = record("Line", [{"name": "item", "type": "string"}, {"name": "note", "type": "null"}])
    lines = {"name": "lines", "type": {"type": "array", "items": inner}}
    assert avro_schema(registered(record("Order", [lines]))).check is None


def test_records_without_a_header_are_checked_too() -> None:
    with pytest.raises(ValueError, match="nested more than"):
        avro(Item, LIST).decode(b"\x02" * 100_000)

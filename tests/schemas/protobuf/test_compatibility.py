"""Verdicts on pairs of .proto files, with their reasons, and what Protobuf does with the bytes."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from barnabas.schemas.compatibility import findings
from tests.schemas.making import proto, proto3

SCALARS = {
    "double": 1.0,
    "float": 1.0,
    "int32": 1,
    "int64": 1,
    "uint32": 1,
    "uint64": 1,
    "sint32": 1,
    "sint64": 1,
    "fixed32": 1,
    "fixed64": 1,
    "sfixed32": 1,
    "sfixed64": 1,
    "bool": True,
    "string": "1",
    "bytes": b"1",
}


def order(*members: str) -> str:
    return "message Order { " + " ".join(members) + " }"


ID = "string id = 1;"
LINE = "message Line { int32 n = 1; }"
ONEOF = "oneof pay { string card = 2; int32 cash = 3; }"

PAIRS: list[tuple[str, str, str, list[tuple[str, str]], str]] = [
    # what, written with, read with, kinds and paths, and what the message has to contain
    ("the same", order(ID), order(ID), [], ""),
    ("field added", order(ID), order(ID, "int32 n = 2;"), [], ""),
    ("field removed", order(ID, "int32 n = 2;"), order(ID), [], ""),
    ("field renamed", order(ID), order("string key = 1;"), [], ""),
    (
        "number used again",
        order(ID),
        order("int32 n = 1;"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/1")],
        "Order.n (number 1) is int32, and was written as string; give it a new number",
    ),
    (
        "numbers swapped",
        order("int32 a = 1; int32 b = 2;"),
        order("int32 a = 2; int32 b = 1;"),
        [],
        "",
    ),
    ("string to bytes", order(ID), order("bytes id = 1;"), [], ""),
    ("list of texts to one text", order("repeated string id = 1;"), order(ID), [], ""),
    (
        "list of numbers to one number",
        order("repeated int32 n = 1;"),
        order("int32 n = 1;"),
        [("FIELD_NUMERIC_LABEL_CHANGED", "#/Order/1")],
        "is int32, and was written as repeated int32",
    ),
    ("made optional", order("int32 n = 1;"), order("optional int32 n = 1;"), [], ""),
    (
        "message to text",
        order("Line l = 1;", LINE),
        order("string l = 1;", LINE),
        [("FIELD_KIND_CHANGED", "#/Order/1")],
        "Order.l (number 1) is string, and was written as Line",
    ),
    (
        "one message to a list",
        order("Line l = 1;", LINE),
        order("repeated Line l = 1;", LINE),
        [],
        "",
    ),
    (
        "another message",
        order("Line l = 1;") + LINE + "message Row { int32 n = 1; }",
        order("Row l = 1;") + LINE + "message Row { int32 n = 1; }",
        [("FIELD_NAMED_TYPE_CHANGED", "#/Order/1")],
        "Order.l (number 1) is message Row, and was written as Line",
    ),
    (
        "map to a list",
        order("map<string, int32> m = 1;"),
        order("repeated int32 m = 1;"),
        [("FIELD_KIND_CHANGED", "#/Order/1")],
        "written as map<string, int32>",
    ),
    (
        "values of a map widened",
        order("map<string, int32> m = 1;"),
        order("map<string, int64> m = 1;"),
        [],
        "",
    ),
    (
        "values of a map changed",
        order("map<string, int32> m = 1;"),
        order("map<string, string> m = 1;"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/1")],
        "Order.m (number 1)",
    ),
    (
        "keys of a map changed",
        order("map<string, int32> m = 1;"),
        order("map<int32, int32> m = 1;"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/1")],
        "map<int32, int32>",
    ),
    ("message added", order(ID), order(ID) + LINE, [], ""),
    (
        "message removed",
        order(ID) + LINE,
        order(ID),
        [("MESSAGE_REMOVED", "#/Line")],
        "message Line was",
    ),
    (
        "nested message removed",
        order(LINE),
        order(),
        [("MESSAGE_REMOVED", "#/Order/Line")],
        "Order.Line",
    ),
    ("messages in another order", order(ID) + LINE, LINE + order(ID), [], ""),
    (
        "field of a nested message",
        order("Line l = 1;", "message Line { int32 n = 1; }"),
        order("Line l = 1;", "message Line { string n = 1; }"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/Line/1")],
        "Order.Line.n (number 1)",
    ),
    ("package changed", "package a; " + order(ID), "package b; " + order(ID), [], ""),
    ("name qualified", order("Line l = 1;", LINE), order(".Order.Line l = 1;", LINE), [], ""),
    ("enum to number", order("E e = 1;") + "enum E { A = 0; }", order("int32 e = 1;"), [], ""),
    ("value added", "enum E { A = 0; }", "enum E { A = 0; B = 1; }", [], ""),
    ("value removed", "enum E { A = 0; B = 1; }", "enum E { A = 0; }", [], ""),
    ("into a new oneof", order("string card = 2;"), order(ONEOF), [], ""),
    (
        "two into a new oneof",
        order("string card = 2; int32 cash = 3;"),
        order(ONEOF),
        [("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "#/Order/pay")],
        "card, cash moved into oneof Order.pay",
    ),
    (
        "into an existing oneof",
        order("int32 cash = 3; oneof pay { string card = 2; }"),
        order(ONEOF),
        [("FIELD_MOVED_TO_EXISTING_ONEOF", "#/Order/pay")],
        "cash moved into oneof Order.pay",
    ),
    ("added to a oneof", order("oneof pay { string card = 2; }"), order(ONEOF), [], ""),
    (
        "removed from a oneof",
        order(ONEOF),
        order("oneof pay { string card = 2; }"),
        [("ONEOF_FIELD_REMOVED", "#/Order/pay/3")],
        "Order.pay.cash (number 3) was removed from its oneof",
    ),
    (
        "out of a oneof",
        order(ONEOF),
        order("int32 cash = 3; oneof pay { string card = 2; }"),
        [],
        "",
    ),
    ("oneof removed", order(ONEOF), order(ID), [], ""),
    (
        "changed in a oneof",
        order(ONEOF),
        order("oneof pay { string card = 2; string cash = 3; }"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/pay/3")],
        "Order.cash (number 3)",
    ),
    (
        "changed in a renamed oneof",
        order(ONEOF),
        order("oneof by { string card = 2; string cash = 3; }"),
        [("FIELD_SCALAR_KIND_CHANGED", "#/Order/3")],
        "Order.cash (number 3)",
    ),
    ("reserved", order(ID, "int32 n = 2;"), order(ID, 'reserved 2; reserved "n";'), [], ""),
]


@pytest.mark.parametrize(("what", "writer", "reader", "expected", "text"), PAIRS)
def test_a_pair(
    what: str, writer: str, reader: str, expected: list[tuple[str, str]], text: str
) -> None:
    found = findings(proto3(reader), proto3(writer))
    assert [(each.kind, each.path) for each in found] == expected
    assert text in "; ".join(map(str, found))


def test_required_fields_can_be_neither_added_nor_removed() -> None:
    without = proto('syntax = "proto2"; message Order { optional string id = 1; }')
    required = proto(
        'syntax = "proto2"; message Order { optional string id = 1; required int32 n = 2; }'
    )
    (added,) = findings(required, without)
    assert (added.kind, added.path) == ("REQUIRED_FIELD_ADDED", "#/Order/2")
    assert "Order.n (number 2) is required" in str(added)
    (removed,) = findings(without, required)
    assert (removed.kind, removed.old) == ("REQUIRED_FIELD_REMOVED", "required int32 n = 2")


def test_imported_messages_are_compared() -> None:
    def shop(place: str) -> Any:
        text = ('import "place.proto";', "message Order { Place p = 1; Place q = 2; }")
        return proto3(*text, place=f'syntax = "proto3"; message Place {{ {place} Place up = 9; }}')

    old, same, new = shop("string city = 1;"), shop("bytes city = 1;"), shop("int32 city = 1;")
    assert findings(same, old) == []
    (found,) = findings(new, old)
    assert (found.kind, found.field) == ("FIELD_SCALAR_KIND_CHANGED", "Order.p.city")


def one_field(type_: str) -> Any:
    """The class of a message with a field of this type, which Protobuf has made."""
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    enum = file.enum_type.add(name="E")
    enum.value.add(name="A", number=0)
    enum.value.add(name="B", number=1)
    file.message_type.add(name="M").field.add(name="m", number=1, type=5, label=1)
    field = file.message_type.add(name="Order").field.add(name="f", number=1, label=1)
    field.type = {"E": 14, "M": 11}.get(type_) or getattr(
        descriptor_pb2.FieldDescriptorProto, f"TYPE_{type_.upper()}"
    )
    if type_ in {"E", "M"}:
        field.type_name = f".a.{type_}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("a.Order"))


CLASSES = {each: one_field(each) for each in (*SCALARS, "E", "M")}


def reads(reader: str, writer: str) -> bool:
    """Whether Protobuf reads the value that was written."""
    written = CLASSES[writer]()
    if writer == "M":
        written.f.m = 1
    else:
        written.f = SCALARS.get(writer, 1)
    try:
        found = CLASSES[reader].FromString(written.SerializeToString())
    except DecodeError:
        return False
    before, after = written.f, found.f
    texts = [each.encode() if isinstance(each, str) else each for each in (before, after)]
    if "M" in (reader, writer):
        return reader == writer and before.m == after.m
    return bool(texts[0] == texts[1])


@pytest.mark.parametrize("writer", CLASSES)
@pytest.mark.parametrize("reader", CLASSES)
def test_a_type_may_become_those_that_protobuf_reads_both_ways(reader: str, writer: str) -> None:
    types = "enum E { A = 0; B = 1; } message M { int32 m = 1; }"
    found = findings(
        proto3(types, order(f"{reader} f = 1;")), proto3(types, order(f"{writer} f = 1;"))
    )
    assert (not found) == (reads(reader, writer) and reads(writer, reader))

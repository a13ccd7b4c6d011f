"""JSON that a user types, encoded by schemas: what is shown can be sent again."""

import json
from base64 import b64encode
from typing import Any

import pytest

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.reader import plain, reader_of
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import index_bytes, message_indexes
from barnabas.formats.registered.writer import messages_of, writer_of
from tests.console.test_schemas import payment_file

PLACE = {
    "type": "record",
    "name": "shop.Place",
    "fields": [
        {"name": "city", "type": "string"},
        {"name": "next", "type": ["null", "shop.Place"], "default": None},
    ],
}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "count", "type": "int", "default": 1},
        {"name": "weight", "type": ["null", "float", "string"], "default": None},
        {"name": "raw", "type": "bytes", "default": ""},
        {"name": "code", "type": {"type": "fixed", "name": "shop.Code", "size": 2}},
        {
            "name": "amount",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "state", "type": {"type": "enum", "name": "shop.State", "symbols": ["A", "B"]}},
        {"name": "to", "type": "shop.Place"},
        {"name": "tags", "type": {"type": "array", "items": {"type": "map", "values": "boolean"}}},
        {"name": "trace", "type": {"type": "string", "logicalType": "uuid"}},
    ],
}
SCHEMA = RegisteredSchema(7, "AVRO", json.dumps(ORDER), (("shop.Place", json.dumps(PLACE)),))
GOOD: dict[str, Any] = {
    "id": 1 << 40,
    "count": 3,
    "weight": 1.5,
    "raw": "00ff",
    "code": "abcd",
    "amount": "1234.50",
    "at": "2026-01-31 12:00:00+00:00",
    "day": "2026-01-31",
    "state": "B",
    "to": {"city": "Graz", "next": {"city": "Linz", "next": None}},
    "tags": [{"new": True}, {}],
    "trace": "7f3d1c9e-0000-4000-8000-000000000001",
}


def shown(schema: RegisteredSchema, data: bytes) -> Any:
    return json.loads(json.dumps(reader_of(schema)(data), default=plain))


def test_what_is_shown_of_avro_can_be_sent() -> None:
    write = writer_of(SCHEMA)
    data = write(GOOD)
    assert data[:5] == b"\0\0\0\0\7"
    assert shown(SCHEMA, data) == GOOD
    assert write(shown(SCHEMA, data)) == data


def test_defaults_and_named_branches_of_avro() -> None:
    less = {name: each for name, each in GOOD.items() if name not in ("count", "weight", "raw")}
    found = shown(SCHEMA, writer_of(SCHEMA)(less))
    assert (found["count"], found["weight"], found["raw"]) == (1, None, "")
    found = shown(SCHEMA, writer_of(SCHEMA)({**GOOD, "weight": {"string": "heavy"}}))
    assert found["weight"] == "heavy"
    found = shown(SCHEMA, writer_of(SCHEMA)({**GOOD, "weight": "light", "day": None, "at": 1_000}))
    assert (found["weight"], found["day"]) == ("light", None)
    assert found["at"].startswith("1970-01-01 00:00:01")


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"id": "12"}, "id", "expected long, got text"),
        ({"id": 1 << 63}, "id", "too large"),
        ({"count": True}, "count", "expected int, got true or false"),
        ({"weight": [1]}, "weight", "expected one of null, float, string"),
        ({"weight": {"float": "x"}}, "weight.float", "expected float"),
        ({"raw": "xyz"}, "raw", "bytes as hex"),
        ({"code": "ab"}, "code", "expected 2 bytes"),
        ({"amount": "1.234"}, "amount", "more than 2 decimal places"),
        ({"amount": "12345.00"}, "amount", "more than 6 digits"),
        ({"amount": "NaN"}, "amount", "a decimal number"),
        ({"at": "2026-01-31T12:00:00"}, "at", "a time with its zone"),
        ({"day": "today"}, "day", "a date"),
        ({"state": "C"}, "state", "one of A, B"),
        ({"to": {"city": 5}}, "to.city", "expected string, got a number"),
        ({"to": {"city": "a", "next": {"city": None}}}, "to.next.city", "got null"),
        ({"to": {}}, "to.city", "is missing"),
        ({"tags": [{"a": True}, {"b": 1}]}, "tags[1].b", "expected boolean"),
        ({"trace": "7"}, "trace", "a UUID"),
        ({"price": 3}, "price", "no such field"),
    ],
)
def test_a_problem_of_avro_names_the_field(change: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(ValidationFailed) as failed:
        writer_of(SCHEMA)({**GOOD, **change})
    assert failed.value.field == field
    assert said in failed.value.problem


@pytest.mark.parametrize("last", [{"next": None}, {"next": 5}, {"other": 1}])
def test_branches_that_refer_to_each_other_are_not_tried_again_and_again(last: Any) -> None:
    """At depth 60 that would not end."""

    def linked(name: str, kind: str, other: Any) -> dict[str, Any]:
        own = {"name": "own", "type": kind}
        after = {"name": "next", "type": ["null", "A", other]}
        return {"type": "record", "name": name, "fields": [after, own]}

    value: Any = {**last, "own": "text"}
    for _ in range(60):
        value = {"next": value, "own": "text"}
    items = ["null", linked("A", "int", linked("B", "string", "B")), "B"]
    schema = RegisteredSchema(3, "AVRO", json.dumps({"type": "array", "items": items}))
    if last == {"next": None}:
        assert shown(schema, writer_of(schema)([value])) == [value]
    else:
        with pytest.raises(ValidationFailed, match="expected one of null, A, B"):
            writer_of(schema)([value])


def test_protobuf_is_sent_as_the_message_that_was_chosen() -> None:
    definition = b64encode(payment_file().SerializeToString()).decode()
    schema = RegisteredSchema(9, "PROTOBUF", definition)
    assert messages_of(schema) == ["Other", "Other.Payment"]
    typed = {"card_number": "4111", "at": "1970-01-01T00:16:40Z"}
    data = writer_of(schema, "Other.Payment")(typed)
    assert shown(schema, data) == typed
    assert message_indexes(data) == ([0, 0], 8)
    assert writer_of(schema)({}) == b"\0\0\0\0\x09\0"
    for wrong, said in (
        ({"card": 1}, "card"),
        ({"card_number": 5}, "card_number"),
        ({"at": "noon"}, "at"),
        ([], "expected an object"),
    ):
        with pytest.raises(ValidationFailed, match=said):
            writer_of(schema, "Other.Payment")(wrong)
    with pytest.raises(ValueError, match="no message 'Nothing'"):
        writer_of(schema, "Nothing")


@pytest.mark.parametrize("indexes", [[0], [1], [0, 3], [200, 0, 70_000]])
def test_message_indexes_are_read_as_they_are_written(indexes: list[int]) -> None:
    data = b"\0\0\0\0\1" + index_bytes(indexes)
    assert message_indexes(data) == (indexes, len(data))

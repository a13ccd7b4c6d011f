"""What an Avro schema may not be, and that the message names the field."""

import json
from typing import Any

import fastavro
import pytest

from barnabas.schemas.parsing import parse
from barnabas.schemas.schema import InvalidSchemaError, Schema, SchemaKind, SchemaReference
from tests.schemas.making import avro, record

INVALID: list[tuple[Any, str]] = [
    ({"type": "record", "fields": []}, "record needs a 'name'"),
    ({"name": "A", "fields": []}, "a type needs 'type'"),
    ({"type": "record", "name": "A"}, "A: a record needs a list of 'fields'"),
    (record(("a", "integer")), "Order.a: unknown type 'integer'"),
    (record(("a", "int"), ("a", "int")), "Order.a: the record has this field twice"),
    (record(("a-b", "int")), "Order: field 0 has an invalid name"),
    (record({"name": "a"}), "Order.a: 'type' is missing"),
    (record(("a", {"type": "array"})), "Order.a: 'items' is missing"),
    (record(("a", {"type": "map"})), "Order.a: 'values' is missing"),
    (record(("a", ["int", "int"])), "Order.a: a union can't have int twice"),
    (record(("a", ["int", ["string"]])), "Order.a: a union can't contain a union"),
    (record(("a", "int", "x")), 'Order.a: its default "x" is not a value of int'),
    (record(("a", "int", 2**31)), "Order.a: its default 2147483648 is not a value of int"),
    (record(("a", ["int", "string"], None)), "its default null is not a value of int or string"),
    (record(("a", {"type": "array", "items": "int"}, ["x"])), "is not a value of array of int"),
    (record(("p", record(("c", "int"), name="P"), {})), "its default {} is not a value of record"),
    (record(("p", record(("c", "intt"), name="P"))), "Order.p.c: unknown type 'intt'"),
    ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "E: the enum has symbol 'A' twice"),
    ({"type": "enum", "name": "E", "symbols": ["A B"]}, 'E: invalid symbol "A B"'),
    ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "not one of its symbols"),
    ({"type": "fixed", "name": "F"}, "F: 'size' of a fixed is a number of bytes"),
    ({"type": "fixed", "name": "string", "size": 1}, "'string' is a type of Avro"),
    ({"type": "record", "name": "a..b", "fields": []}, "invalid name 'a..b'"),
    (record(("a", "int"), name="Order", aliases="x"), "'aliases' is a list of names"),
    (record({"name": "a", "type": "int", "order": "up"}), "Order.a: 'order' is one of"),
    (record(("a", {"type": "fixed", "name": "Order", "size": 1})), "'Order' is defined twice"),
    (7, "a type is a name, an object or a list, got 7"),
]


@pytest.mark.parametrize(("definition", "text"), INVALID)
def test_an_invalid_schema_is_refused_by_field(definition: Any, text: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(definition)
    assert text in str(caught.value)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="this is not: "):
        parse(Schema(SchemaKind.AVRO, "{type: record}"))


def test_deep_nesting_is_refused_and_does_not_end_the_process() -> None:
    with pytest.raises(InvalidSchemaError, match="nested"):
        parse(Schema(SchemaKind.AVRO, '{"type":' * 100_000))
    deep: Any = "int"
    for _ in range(300):
        deep = {"type": "array", "items": deep}
    with pytest.raises(InvalidSchemaError, match="nested more than 200 deep"):
        avro(deep)


def test_a_stored_schema_with_an_invalid_default_is_still_read() -> None:
    text = json.dumps(record(("f", "string", None), name="myrecord"))
    assert parse(Schema(SchemaKind.AVRO, text), strict=False).name == "myrecord"


def test_types_of_references_are_known() -> None:
    place = {"type": "record", "name": "Place", "namespace": "shop", "fields": []}
    order = record(("p", "shop.Place"), ("q", ["null", "shop.Place"]))
    parsed = avro(order, **{"shop.Place": place})
    assert parsed.canonical() == json.dumps(order, separators=(",", ":"))


def test_references_of_references_are_found_once() -> None:
    def schema(definition: Any, *references: str) -> Schema:
        found = tuple(SchemaReference(each, each, 1) for each in references)
        return Schema(SchemaKind.AVRO, json.dumps(definition), found)

    known = {
        "A": schema(record(("x", "int"), name="A")),
        "B": schema(record(("a", "A"), name="B"), "A"),
        "C": schema(record(("a", "A"), ("b", "B"), name="C"), "A", "B"),
    }
    asked = []

    def resolve(reference: SchemaReference) -> Schema:
        asked.append(reference.name)
        return known[reference.name]

    parse(known["C"], resolve)
    assert asked == ["A", "B"]
    with pytest.raises(InvalidSchemaError, match="reference 'A': subject 'A' has no version 1"):
        parse(known["B"])


def test_references_in_a_circle_are_refused() -> None:
    def resolve(reference: SchemaReference) -> Schema:
        other = {"A": "B", "B": "A"}[reference.name]
        references = (SchemaReference(other, other, 1),)
        return Schema(SchemaKind.AVRO, json.dumps(record(name=reference.name)), references)

    with pytest.raises(InvalidSchemaError, match="A -> B -> A"):
        parse(Schema(SchemaKind.AVRO, '"int"', (SchemaReference("A", "A", 1),)), resolve)


VALID: list[Any] = [
    "int",
    {"type": "string"},
    ["null", "string"],
    record(("a", "int", 1), ("b", ["null", "string"], None), ("c", ["null", "int"], 3)),
    record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})),
    record(("next", ["null", "Order"], None), namespace="shop"),
    record(("a", {"type": "map", "values": "Order"}, {})),
    record(("e", {"type": "enum", "name": "x.E", "symbols": ["A"]}, "A"), ("f", "x.E")),
]


@pytest.mark.parametrize("definition", VALID)
def test_valid_schemas_are_valid_for_fastavro_too(definition: Any) -> None:
    canonical = avro(definition).canonical()
    assert fastavro.schema.to_parsing_canonical_form(
        fastavro.parse_schema(json.loads(canonical))
    ) == fastavro.schema.to_parsing_canonical_form(fastavro.parse_schema(definition))
    assert avro(json.loads(canonical)).canonical() == canonical

"""What a JSON Schema may not contain, what a `$ref` means, and the texts of a schema."""

from typing import Any

import pytest

from barnabas.schemas.compatibility import findings
from barnabas.schemas.parsing import parse
from barnabas.schemas.schema import InvalidSchemaError, Schema, SchemaKind
from tests.schemas.making import json_schema

INVALID: list[tuple[Any, str]] = [
    (7, "#: a schema is an object, true or false, got 7"),
    ({"type": "text"}, '#/type: unknown type "text"; use array, boolean'),
    ({"type": None}, "#/type: null is no type"),
    ({"type": ["string", "string"]}, "#/type: a list of types has each once"),
    ({"properties": []}, "#/properties: an object, got []"),
    ({"properties": {"a": 3}}, "#/properties/a: a schema is an object"),
    (
        {"properties": {"a": {"minLength": -1}}},
        "#/properties/a/minLength: a number that is not neg",
    ),
    ({"maxItems": 1.5}, "#/maxItems: a number that is not negative"),
    ({"maximum": "9"}, "#/maximum: a number"),
    ({"multipleOf": 0}, "#/multipleOf: a number above 0"),
    ({"required": "a"}, "#/required: a list of names"),
    ({"required": ["a", "a"]}, "#/required: a list that has each name once"),
    ({"allOf": []}, "#/allOf: a list of at least one schema"),
    ({"items": {"anyOf": [{"enum": 1}]}}, "#/items/anyOf/0/enum: a list of values"),
    ({"$ref": "#/definitions/x"}, "#/$ref: '#/definitions/x' leads nowhere: there is no 'definiti"),
    ({"$ref": "#x"}, "leads nowhere: there is no anchor 'x'"),
    ({"properties": {"a": {"$ref": "place.json"}}}, "'place.json' is unknown; add a reference"),
    ({"pattern": 1}, "#/pattern: a text, got 1"),
]


@pytest.mark.parametrize(("definition", "text"), INVALID)
def test_an_invalid_schema_is_refused_by_place(definition: Any, text: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema(definition)
    assert text in str(caught.value)


def test_text_that_is_no_json_or_too_deep_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="this is not"):
        parse(Schema(SchemaKind.JSON, "{"))
    with pytest.raises(InvalidSchemaError, match="nested"):
        parse(Schema(SchemaKind.JSON, '{"not":' * 100_000))
    with pytest.raises(InvalidSchemaError, match="nested more than 200 deep"):
        parse(Schema(SchemaKind.JSON, '{"not":' * 250 + "{}" + "}" * 250))


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
REFERENCES: list[dict[str, Any]] = [
    {"$ref": "#/definitions/x", "definitions": {"x": TEXT}},
    {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": TEXT}},
    {"$ref": "#x", "definitions": {"y": {"$id": "#x", **TEXT}}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#x"}
    | {"$defs": {"y": {"$anchor": "x", **TEXT}}},
    {"$id": "http://a/order.json", "$ref": "text.json"}
    | {"definitions": {"t": {"$id": "http://a/text.json", **TEXT}}},
    {"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#x"}
    | {"definitions": {"y": {"id": "#x", **TEXT}}},
]


@pytest.mark.parametrize("definition", REFERENCES)
def test_what_a_reference_means(definition: Any) -> None:
    assert findings(json_schema(TEXT), json_schema(definition)) == []
    assert findings(json_schema(definition), json_schema(TEXT)) == []
    assert findings(json_schema(NUMBER), json_schema(definition)) != []


@pytest.mark.parametrize("own_id", [{}, {"$id": "http://a/order.json"}])
@pytest.mark.parametrize("other_id", [{}, {"$id": "http://a/place.json"}, {"$id": "place.json"}])
def test_references_to_other_schemas_are_found_by_name(own_id: Any, other_id: Any) -> None:
    def order(city: Any) -> Any:
        place = {**other_id, "type": "object", "properties": {"city": city}}
        definition = {**own_id, "properties": {"p": {"$ref": "place.json"}}}
        return json_schema(definition, **{"place.json": place})

    assert findings(order(TEXT), order(TEXT)) == []
    (found,) = findings(order(NUMBER), order(TEXT))
    assert (found.kind, found.field) == ("TYPE_CHANGED", "p.city")


def test_what_is_next_to_a_reference_counts_since_2019() -> None:
    old: dict[str, Any] = {"$ref": "#/$defs/x", "$defs": {"x": TEXT}}
    for draft, expected in (("http://json-schema.org/draft-07/schema#", 0), ("2020-12", 1)):
        new = json_schema({"$schema": draft, **old, "maxLength": 3})
        assert len(findings(new, json_schema({"$schema": draft, **old}))) == expected


def test_the_canonical_text_keeps_the_order_and_the_normalized_one_sorts() -> None:
    parsed = json_schema({"type": "object", "title": "Order", "required": ["b", "a"], "é": 1e10})
    assert parsed.canonical() == (
        '{"type":"object","title":"Order","required":["b","a"],"é":1.0E10}'
    )
    assert parsed.normalized() == (
        '{"required":["b","a"],"title":"Order","type":"object","é":1.0E10}'
    )
    assert parsed.name == "Order"

"""Verdicts on pairs of JSON Schemas, with their reasons; `jsonschema` checks random ones."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.schemas.compatibility import findings
from tests.schemas.making import json_schema

S, N, INT, B = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {**opened(*required, **properties), "additionalProperties": False}


def opened(*required: str, **properties: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


def listed(*items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items[0] if len(items) == 1 else list(items), **more}


TREE = opened(value=INT, next={"$ref": "#"})
ONE_OF = {"oneOf": [S, N]}
OPEN = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
CLOSED = "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"

PAIRS: list[tuple[str, Any, Any, list[str], str]] = [
    # what, written with, read with, kinds and paths, and what the message has to contain
    ("the same", opened(a=S), opened(a=S), [], ""),
    ("anything", S, {}, [], ""),
    ("anything, as true", S, True, [], ""),
    ("from anything", {}, S, ["TYPE_NARROWED #/"], "the value is string"),
    ("title and description", {**S, "title": "a"}, {**S, "title": "b"}, [], ""),
    (
        "number to integer",
        N,
        INT,
        ["TYPE_NARROWED #/"],
        "is integer, and may have been written as number",
    ),
    ("integer to number", INT, N, [], ""),
    (
        "string to number",
        S,
        N,
        ["TYPE_CHANGED #/"],
        "is number, and may have been written as string",
    ),
    ("type added", S, {"type": ["string", "null"]}, [], ""),
    ("type removed", {"type": ["string", "null"]}, S, ["TYPE_NARROWED #/"], "null or string"),
    ("nothing was written", False, S, [], ""),
    ("maxLength up", {**S, "maxLength": 5}, {**S, "maxLength": 9}, [], ""),
    (
        "maxLength down",
        {**S, "maxLength": 9},
        {**S, "maxLength": 5},
        ["MAX_LENGTH_DECREASED #/maxLength"],
        "has maxLength 5, and it was 9",
    ),
    (
        "maxLength added",
        S,
        {**S, "maxLength": 5},
        ["MAX_LENGTH_ADDED #/maxLength"],
        "written without that",
    ),
    ("maxLength removed", {**S, "maxLength": 5}, S, [], ""),
    (
        "minLength up",
        {**S, "minLength": 5},
        {**S, "minLength": 9},
        ["MIN_LENGTH_INCREASED #/minLength"],
        "",
    ),
    ("minLength down", {**S, "minLength": 9}, {**S, "minLength": 5}, [], ""),
    ("minLength added", S, {**S, "minLength": 1}, ["MIN_LENGTH_ADDED #/minLength"], ""),
    ("minLength 0 added", S, {**S, "minLength": 0}, [], ""),
    ("pattern added", S, {**S, "pattern": "a"}, ["PATTERN_ADDED #/pattern"], "has to match 'a'"),
    (
        "pattern changed",
        {**S, "pattern": "a"},
        {**S, "pattern": "b"},
        ["PATTERN_CHANGED #/pattern"],
        "",
    ),
    ("pattern removed", {**S, "pattern": "a"}, S, [], ""),
    ("format", S, {**S, "format": "email"}, [], ""),
    ("maximum up", {**N, "maximum": 5}, {**N, "maximum": 9}, [], ""),
    (
        "maximum down",
        {**N, "maximum": 9},
        {**N, "maximum": 5.5},
        ["MAXIMUM_DECREASED #/maximum"],
        "maximum 5.5",
    ),
    ("maximum added", N, {**N, "maximum": 9}, ["MAXIMUM_ADDED #/maximum"], ""),
    ("minimum up", {**N, "minimum": 5}, {**N, "minimum": 9}, ["MINIMUM_INCREASED #/minimum"], ""),
    ("minimum down", {**N, "minimum": 9}, {**N, "minimum": 5}, [], ""),
    ("minimum added", N, {**N, "minimum": 0}, ["MINIMUM_ADDED #/minimum"], ""),
    (
        "exclusiveMaximum added",
        N,
        {**N, "exclusiveMaximum": 9},
        ["EXCLUSIVE_MAXIMUM_ADDED #/exclusiveMaximum"],
        "",
    ),
    (
        "exclusiveMaximum down",
        {**N, "exclusiveMaximum": 9},
        {**N, "exclusiveMaximum": 8},
        ["EXCLUSIVE_MAXIMUM_DECREASED #/exclusiveMaximum"],
        "",
    ),
    (
        "exclusiveMinimum up",
        {**N, "exclusiveMinimum": 1},
        {**N, "exclusiveMinimum": 2},
        ["EXCLUSIVE_MINIMUM_INCREASED #/exclusiveMinimum"],
        "",
    ),
    ("exclusive to inclusive", {**N, "exclusiveMaximum": 9}, {**N, "maximum": 9}, [], ""),
    (
        "inclusive to exclusive",
        {**N, "maximum": 9},
        {**N, "exclusiveMaximum": 9},
        ["EXCLUSIVE_MAXIMUM_ADDED #/exclusiveMaximum"],
        "",
    ),
    (
        "exclusive of draft 4",
        {"$schema": "http://json-schema.org/draft-04/schema#", **N, "maximum": 9},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            **N,
            "maximum": 9,
            "exclusiveMaximum": True,
        },
        ["EXCLUSIVE_MAXIMUM_ADDED #/exclusiveMaximum"],
        "",
    ),
    (
        "multipleOf added",
        N,
        {**N, "multipleOf": 2},
        ["MULTIPLE_OF_ADDED #/multipleOf"],
        "a multiple of 2",
    ),
    ("multipleOf reduced", {**N, "multipleOf": 10}, {**N, "multipleOf": 2}, [], ""),
    (
        "multipleOf expanded",
        {**N, "multipleOf": 2},
        {**N, "multipleOf": 10},
        ["MULTIPLE_OF_EXPANDED #/multipleOf"],
        "",
    ),
    (
        "multipleOf changed",
        {**N, "multipleOf": 10},
        {**N, "multipleOf": 11},
        ["MULTIPLE_OF_CHANGED #/multipleOf"],
        "",
    ),
    ("multipleOf 1 of integers", INT, {**INT, "multipleOf": 1}, [], ""),
    ("enum extended", {"enum": ["a"]}, {"enum": ["a", "b"]}, [], ""),
    (
        "enum narrowed",
        {"enum": ["a", "b"]},
        {"enum": ["a"]},
        ["ENUM_ARRAY_NARROWED #/enum"],
        'no longer accepts "b"',
    ),
    (
        "enum changed",
        {"enum": ["a", "b"]},
        {"enum": ["a", "c"]},
        ["ENUM_ARRAY_CHANGED #/enum"],
        'no longer accepts "b"',
    ),
    ("enum added", S, {**S, "enum": ["a"]}, ["ENUM_ARRAY_NARROWED #/enum"], "one of"),
    ("enum removed", {**S, "enum": ["a"]}, S, [], ""),
    ("enum to a type", {"enum": ["a", "b"]}, S, [], ""),
    ("enum to another type", {"enum": ["a", 1]}, S, ["TYPE_NARROWED #/"], ""),
    ("const to enum", {"const": 1}, {"enum": [1.0, 2]}, [], ""),
    ("const changed", {"const": 1}, {"const": 2}, ["ENUM_ARRAY_CHANGED #/const"], ""),
    (
        "property added, open",
        opened(),
        opened(a=S),
        [f"{OPEN} #/properties/a"],
        "a was added, and objects may have been written with any value",
    ),
    ("property added, closed", closed(), closed(a=S), [], ""),
    ("property of any value added, open", opened(), opened(a={}), [], ""),
    (
        "required property added, closed",
        closed(),
        closed("a", a=S),
        ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/a"],
        "a is required and has no default",
    ),
    (
        "required property with a default added",
        closed(),
        closed("a", a={**S, "default": ""}),
        [],
        "",
    ),
    ("property removed, open", opened(a=S), opened(), [], ""),
    (
        "property removed, closed",
        closed(a=S),
        closed(),
        [f"{CLOSED} #/properties/a"],
        "a was removed, and objects with it are refused",
    ),
    ("property that was never written removed", closed(a=False), closed(), [], ""),
    (
        "property made required",
        opened(a=S),
        opened("a", a=S),
        ["REQUIRED_ATTRIBUTE_ADDED #/required/a"],
        "a is required",
    ),
    ("property made optional", opened("a", a=S), opened(a=S), [], ""),
    (
        "type of a property changed",
        opened(a=S),
        opened(a=N),
        ["TYPE_CHANGED #/properties/a"],
        "a is number",
    ),
    (
        "nested property",
        opened(a=opened(b=S)),
        opened(a=opened(b=N)),
        ["TYPE_CHANGED #/properties/a/properties/b"],
        "a.b is number",
    ),
    ("closed to open", closed(a=S), opened(a=S), [], ""),
    (
        "open to closed",
        opened(a=S),
        closed(a=S),
        ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"],
        "other properties of the value are no longer allowed",
    ),
    (
        "other properties restricted",
        opened(),
        {**opened(), "additionalProperties": S},
        ["ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"],
        "",
    ),
    (
        "other properties widened",
        {**opened(), "additionalProperties": INT},
        {**opened(), "additionalProperties": N},
        [],
        "",
    ),
    (
        "covered by other properties",
        {**opened(), "additionalProperties": S},
        {**opened(b=S), "additionalProperties": S},
        [],
        "",
    ),
    (
        "not covered by other properties",
        {**opened(), "additionalProperties": S},
        {**opened(b=N), "additionalProperties": S},
        ["PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b"],
        "b is number",
    ),
    (
        "removed, and not covered",
        closed(b=N),
        {**opened(), "additionalProperties": S},
        ["PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b"],
        "",
    ),
    ("removed, and covered", closed(b=S), {**opened(), "additionalProperties": S}, [], ""),
    (
        "covered by a pattern",
        {**closed(), "patternProperties": {"^i": INT}},
        {**closed(i1=N), "patternProperties": {"^i": N}},
        [],
        "",
    ),
    (
        "pattern narrowed",
        {**closed(), "patternProperties": {"^i": N}},
        {**closed(), "patternProperties": {"^i": INT}},
        ["TYPE_NARROWED #/patternProperties/^i"],
        "the value[^i]",
    ),
    (
        "pattern removed, closed",
        {**closed(), "patternProperties": {"^i": N}},
        closed(),
        ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"],
        "",
    ),
    (
        "maxProperties added",
        opened(),
        {**opened(), "maxProperties": 2},
        ["MAX_PROPERTIES_ADDED #/maxProperties"],
        "",
    ),
    (
        "minProperties down",
        {**opened(), "minProperties": 2},
        {**opened(), "minProperties": 1},
        [],
        "",
    ),
    (
        "propertyNames added",
        opened(),
        {**opened(), "propertyNames": {"maxLength": 3}},
        ["MAX_LENGTH_ADDED #/propertyNames/maxLength"],
        "names in the value",
    ),
    (
        "dependency added",
        opened(),
        {**opened(), "dependencies": {"a": ["b"]}},
        ["DEPENDENCY_ARRAY_ADDED #/dependencies/a"],
        "with a needs b",
    ),
    (
        "dependency extended",
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"a": ["b", "c"]}},
        ["DEPENDENCY_ARRAY_EXTENDED #/dependencies/a"],
        "needs c",
    ),
    (
        "dependency narrowed",
        {"dependencies": {"a": ["b", "c"]}},
        {"dependencies": {"a": ["b"]}},
        [],
        "",
    ),
    ("dependency removed", {"dependencies": {"a": ["b"]}}, {}, [], ""),
    (
        "dependency renamed keyword",
        {"dependencies": {"a": ["b"]}},
        {"dependentRequired": {"a": ["b"]}},
        [],
        "",
    ),
    (
        "dependent schema added",
        opened(),
        {**opened(), "dependentSchemas": {"a": {"minProperties": 2}}},
        ["DEPENDENCY_SCHEMA_ADDED #/dependentSchemas/a"],
        "",
    ),
    ("items widened", listed(INT), listed(N), [], ""),
    ("items narrowed", listed(N), listed(INT), ["TYPE_NARROWED #/items"], "[] is integer"),
    ("items added", {"type": "array"}, listed(INT), ["TYPE_NARROWED #/items"], ""),
    ("tuple grown, open", listed(INT, INT), listed(INT, INT, S), ["TYPE_NARROWED #/items/2"], ""),
    (
        "tuple grown, closed",
        listed(INT, INT, additionalItems=False),
        listed(INT, INT, S, additionalItems=False),
        [],
        "",
    ),
    (
        "tuple shrunk, closed",
        listed(INT, INT, S, additionalItems=False),
        listed(INT, INT, additionalItems=False),
        ["TYPE_CHANGED #/items/2"],
        "no longer allowed",
    ),
    ("tuple shrunk, open", listed(INT, INT, S), listed(INT, INT), [], ""),
    ("tuple as prefixItems", listed(INT, S), {"type": "array", "prefixItems": [INT, S]}, [], ""),
    (
        "maxItems down",
        {**listed(INT), "maxItems": 5},
        {**listed(INT), "maxItems": 4},
        ["MAX_ITEMS_DECREASED #/maxItems"],
        "",
    ),
    (
        "minItems up",
        {**listed(INT), "minItems": 1},
        {**listed(INT), "minItems": 2},
        ["MIN_ITEMS_INCREASED #/minItems"],
        "",
    ),
    (
        "uniqueItems added",
        listed(INT),
        {**listed(INT), "uniqueItems": True},
        ["UNIQUE_ITEMS_ADDED #/uniqueItems"],
        "",
    ),
    ("uniqueItems removed", {**listed(INT), "uniqueItems": True}, listed(INT), [], ""),
    (
        "contains added",
        listed(INT),
        {**listed(INT), "contains": {"const": 1}},
        ["CONTAINS_ADDED #/contains"],
        "",
    ),
    ("branch added", {"oneOf": [S]}, ONE_OF, [], ""),
    (
        "branch removed",
        ONE_OF,
        {"oneOf": [S]},
        ["SUM_TYPE_NARROWED #/"],
        "no branch of oneOf accepts it",
    ),
    ("branch changed", ONE_OF, {"oneOf": [S, B]}, ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"], ""),
    ("type to a branch", S, ONE_OF, [], ""),
    ("branches to a type", {"anyOf": [INT, N]}, N, [], ""),
    ("branches to a list of types", ONE_OF, {"type": ["string", "number"]}, [], ""),
    (
        "list of types to branches",
        {"type": ["string", "number"]},
        ONE_OF,
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        "",
    ),
    (
        "allOf extended",
        {"allOf": [S]},
        {"allOf": [S, {"maxLength": 3}]},
        ["MAX_LENGTH_ADDED #/allOf/1/maxLength"],
        "",
    ),
    ("allOf narrowed", {"allOf": [S, {"maxLength": 3}]}, {"allOf": [S]}, [], ""),
    ("allOf to the whole", {"allOf": [opened(a=S), {"required": ["a"]}]}, opened("a", a=S), [], ""),
    ("not narrowed", {"not": N}, {"not": INT}, [], ""),
    ("not extended", {"not": INT}, {"not": N}, ["NOT_TYPE_EXTENDED #/not"], "excluded now"),
    ("not what could not be written", S, {**S, "not": N}, [], ""),
    ("if kept", {"if": S, "then": {"minLength": 1}}, {"if": S, "then": {"minLength": 1}}, [], ""),
    ("if added", {}, {"if": S, "then": {"minLength": 1}}, ["CONDITION_CHANGED #/then"], ""),
    ("if that always holds", {**S, "minLength": 1}, {"if": S, "then": {"minLength": 1}}, [], ""),
    ("a tree", TREE, opened(value=N, next={"$ref": "#"}), [], ""),
    (
        "a tree, narrowed",
        TREE,
        opened(value=S, next={"$ref": "#"}),
        ["TYPE_CHANGED #/properties/value"],
        "value is string",
    ),
    (
        "definition changed",
        {**opened(a={"$ref": "#/definitions/x"}), "definitions": {"x": S}},
        {**opened(a={"$ref": "#/definitions/x"}), "definitions": {"x": N}},
        ["TYPE_CHANGED #/properties/a"],
        "a is number",
    ),
    (
        "definition written out",
        {**opened(a={"$ref": "#/definitions/x"}), "definitions": {"x": S}},
        opened(a=S),
        [],
        "",
    ),
    (
        "definition unused",
        {**opened(), "definitions": {"x": S}},
        {**opened(), "definitions": {"x": N}},
        [],
        "",
    ),
    (
        "unevaluated like additional",
        {**opened(a=S), "unevaluatedProperties": False},
        closed(a=S),
        [],
        "",
    ),
    (
        "unevaluated next to branches",
        {"allOf": [opened(a=S)]},
        {"allOf": [opened(a=S)], "unevaluatedProperties": False},
        ["ADDITIONAL_PROPERTIES_NARROWED #/unevaluatedProperties"],
        "",
    ),
]


@pytest.mark.parametrize(("what", "writer", "reader", "expected", "text"), PAIRS)
def test_a_pair(what: str, writer: Any, reader: Any, expected: list[str], text: str) -> None:
    found = findings(json_schema(reader), json_schema(writer))
    assert [f"{each.kind} {each.path}" for each in found] == expected
    assert text in "; ".join(map(str, found))


VALUES: list[Any] = [None, True, False, 0, 1, 2, 7, -3, 2.5, "", "a", "abc"]
VALUES += [[], [1], ["a"], [1, "a"], [1, 1], [None, 2, "abc"], {}, {"a": {"a": 1}}]
VALUES += [{"a": each} for each in (None, 1, 7, 2.5, "a", "abc", [1], {})]
VALUES += [{"b": each} for each in (1, "a")]
VALUES += [{"a": one, "b": other} for one in (1, "a", 2.5) for other in (1, "abc", None)]
VALUES += [{"a": 1, "b": 1, "c": 1}, {"c": "a"}, {"a": 2.5, "c": []}, {"i": 1}, {"i": "a"}]
"""Values that tell small schemas from each other."""

TYPE_NAMES = ["string", "number", "integer", "boolean", "null", "array", "object"]
DRAFT = "https://json-schema.org/draft/2020-12/schema"


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """A schema of a few keywords with small values."""
    if draw(st.integers(0, 12)) == 0:
        return draw(st.booleans())
    found: dict[str, Any] = {}
    if draw(st.integers(0, 3)):
        types = draw(st.lists(st.sampled_from(TYPE_NAMES), min_size=1, max_size=3, unique=True))
        found["type"] = types[0] if len(types) == 1 else types
    small = st.sampled_from([0, 1, 2, 3])
    inner = schemas(depth - 1) if depth else st.sampled_from([{}, True, False, S, N, INT])
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    keywords: dict[str, Any] = {
        "maxLength": small,
        "minLength": small,
        "pattern": st.sampled_from(["^a", "b"]),
        "maximum": st.sampled_from([1, 2.5, 7]),
        "minimum": st.sampled_from([-3, 0, 1]),
        "exclusiveMaximum": st.sampled_from([1, 2.5, 7]),
        "exclusiveMinimum": st.sampled_from([-3, 0]),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "enum": st.lists(st.sampled_from(VALUES[:13]), min_size=1, max_size=4),
        "const": st.sampled_from(VALUES[:13]),
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^i", "^a"]), inner, max_size=1),
        "additionalProperties": inner,
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "maxProperties": small,
        "minProperties": small,
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "a"}]),
        "dependentRequired": st.sampled_from([{"a": ["b"]}, {"a": ["b", "c"]}]),
        "dependentSchemas": st.dictionaries(st.just("a"), inner, max_size=1),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "maxItems": small,
        "minItems": small,
        "uniqueItems": st.booleans(),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    for key in draw(st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True)):
        found[key] = draw(keywords[key])
    return found


@st.composite
def changed(draw: st.DrawFn, of: Any) -> Any:
    """A schema after some changes: random pairs would hardly ever be compatible."""
    if not isinstance(of, dict) or draw(st.integers(0, 9)) == 0:
        return draw(schemas(1))
    found = {key: value for key, value in of.items() if draw(st.integers(0, 3))}
    for key, value in found.items():
        if isinstance(value, dict) and draw(st.booleans()):
            found[key] = draw(changed(value)) if "type" in value else value
    if draw(st.booleans()):
        extra = draw(schemas(1))
        if isinstance(extra, dict):
            found |= extra
    return found


def accepts(schema: Any) -> list[bool]:
    validator = jsonschema.Draft202012Validator(schema)
    return [validator.is_valid(each) for each in VALUES]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_what_a_compatible_reader_accepts_includes_all_that_may_have_been_written(
    data: st.DataObject,
) -> None:
    writer = data.draw(schemas())
    reader = data.draw(changed(writer))
    pair = [
        {"$schema": DRAFT, **each} if isinstance(each, dict) else each for each in (reader, writer)
    ]
    if findings(json_schema(pair[0]), json_schema(pair[1])):
        return
    for value, written, read in zip(VALUES, accepts(writer), accepts(reader), strict=True):
        assert read or not written, json.dumps({"w": writer, "r": reader, "value": value})


NUMBERS, BOOLEANS = {"enum": [0, 1]}, {"enum": [False, True]}


@pytest.mark.parametrize(
    "around",
    [
        lambda each: each,
        lambda each: closed(done=each),
        lambda each: {"not": {"not": each}},
        lambda each: {"type": "array", "contains": each},
        lambda each: {"if": each, "then": S},
        lambda each: {**opened(a=each), "anyOf": [{}, S], "unevaluatedProperties": False},
    ],
)
@pytest.mark.parametrize(
    ("written", "read"), [(NUMBERS, BOOLEANS), (BOOLEANS, NUMBERS), ({"const": 1}, {"const": True})]
)
def test_numbers_are_no_booleans(around: Any, written: Any, read: Any) -> None:
    """For Python, 1 is True: what looks equal has to be looked at."""
    writer, reader = json_schema(around(written)), json_schema(around(read))
    assert findings(reader, writer)
    assert not findings(reader, reader)


def test_a_number_is_the_same_however_it_is_written() -> None:
    assert not findings(json_schema(closed(a={"const": 1.0})), json_schema(closed(a={"const": 1})))

"""Verdicts on pairs of Avro schemas, with their reasons, and those of Avro's own library."""

import json
from typing import Any

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import make_avsc_object
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.schemas.compatibility import findings
from tests.schemas.making import avro, record

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
PROMOTED = {
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
}
COLOR = {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}
MORE_COLOR = {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE", "GREEN"]}
ANY_COLOR = {**COLOR, "default": "RED"}
HASH = {"type": "fixed", "name": "Hash", "size": 16}
PLACE = record(("city", "string"), name="Place")
PLACE_WITH_ZIP = record(("city", "string"), ("zip", "string"), name="Place")
PLACE_WITH_DEFAULT = record(("city", "string"), ("zip", "string", ""), name="Place")
TREE = record(("left", ["null", "Tree"]), ("value", "int"), name="Tree")
LONG_TREE = record(("left", ["null", "Tree"]), ("value", "long"), name="Tree")
DEFAULT = "READER_FIELD_MISSING_DEFAULT_VALUE"

PAIRS: list[tuple[str, Any, Any, list[tuple[str, str]], str]] = [
    # what, written with, read with, kinds and paths, and what the message has to contain
    ("the same", record(("a", "int")), record(("a", "int")), [], ""),
    ("field added", record(), record(("a", "int")), [(DEFAULT, "/fields/0")], "Order.a has no def"),
    ("field added with a default", record(), record(("a", "int", 0)), [], ""),
    ("null as a default", record(), record(("a", ["null", "int"], None)), [], ""),
    (
        "optional without a default",
        record(),
        record(("a", ["null", "int"])),
        [(DEFAULT, "/fields/0")],
        '"default": null',
    ),
    ("field removed", record(("a", "int")), record(), [], ""),
    (
        "fields in another order",
        record(("a", "int"), ("b", "string")),
        record(("b", "string"), ("a", "int")),
        [],
        "",
    ),
    (
        "two fields added",
        record(),
        record(("a", "int"), ("b", "int")),
        [(DEFAULT, "/fields/0"), (DEFAULT, "/fields/1")],
        "Order.a",
    ),
    (
        "field renamed",
        record(("a", "int")),
        record(("b", "int")),
        [(DEFAULT, "/fields/0")],
        "Order.b",
    ),
    (
        "field renamed with an alias",
        record(("a", "int")),
        record({"name": "b", "type": "int", "aliases": ["a"]}),
        [],
        "",
    ),
    (
        "alias of another field",
        record(("a", "int")),
        record({"name": "b", "type": "int", "aliases": ["c"]}),
        [(DEFAULT, "/fields/0")],
        "Order.b",
    ),
    (
        "alias, and another type",
        record(("a", "string")),
        record({"name": "b", "type": "int", "aliases": ["a"]}),
        [("TYPE_MISMATCH", "/fields/0/type")],
        "Order.b is int",
    ),
    ("field widened", record(("a", "int")), record(("a", "long")), [], ""),
    (
        "field narrowed",
        record(("a", "long")),
        record(("a", "int")),
        [("TYPE_MISMATCH", "/fields/0/type")],
        "Order.a is int, which can't read long",
    ),
    ("field made optional", record(("a", "int")), record(("a", ["null", "int"])), [], ""),
    (
        "optional field made required",
        record(("a", ["null", "int"])),
        record(("a", "int")),
        [("TYPE_MISMATCH", "/fields/0/type")],
        "null",
    ),
    ("branch added", record(("a", ["int"])), record(("a", ["int", "string"])), [], ""),
    (
        "branch removed",
        record(("a", ["int", "string"])),
        record(("a", ["int"])),
        [("MISSING_UNION_BRANCH", "/fields/0/type/1")],
        "Order.a is int, which can't read string",
    ),
    (
        "branches in another order",
        record(("a", ["int", "string"])),
        record(("a", ["string", "int"])),
        [],
        "",
    ),
    ("branch widened", record(("a", ["null", "int"])), record(("a", ["null", "double"])), [], ""),
    ("union with a wider one", ["int", "long"], ["double"], [], ""),
    ("union read as one type", ["int", "long"], "long", [], ""),
    (
        "record renamed",
        record(("a", "int")),
        record(("a", "int"), name="Sale"),
        [("NAME_MISMATCH", "/name")],
        '"aliases": ["Order"]',
    ),
    (
        "record renamed with an alias",
        record(("a", "int")),
        record(("a", "int"), name="Sale", aliases=["Order"]),
        [],
        "",
    ),
    (
        "another namespace",
        record(("a", "int"), namespace="shop"),
        record(("a", "int"), namespace="store"),
        [],
        "",
    ),
    ("doc changed", record(("a", "int"), doc="x"), record(("a", "int"), doc="y"), [], ""),
    ("default changed", record(("a", "int", 1)), record(("a", "int", 2)), [], ""),
    ("default removed", record(("a", "int", 1)), record(("a", "int")), [], ""),
    ("symbol added", COLOR, MORE_COLOR, [], ""),
    ("symbol removed", MORE_COLOR, COLOR, [("MISSING_ENUM_SYMBOLS", "/symbols")], "lacks GREEN"),
    ("symbol removed with a default", MORE_COLOR, ANY_COLOR, [], ""),
    ("symbols in another order", COLOR, {**COLOR, "symbols": ["BLUE", "RED"]}, [], ""),
    (
        "enum renamed",
        COLOR,
        {**COLOR, "name": "Colour"},
        [("NAME_MISMATCH", "/name")],
        "enum Colour",
    ),
    (
        "enum in a field",
        record(("c", MORE_COLOR)),
        record(("c", COLOR)),
        [("MISSING_ENUM_SYMBOLS", "/fields/0/type/symbols")],
        "Order.c lacks GREEN",
    ),
    ("enum read as a string", COLOR, "string", [("TYPE_MISMATCH", "/")], "enum Color"),
    (
        "fixed grown",
        HASH,
        {**HASH, "size": 20},
        [("FIXED_SIZE_MISMATCH", "/size")],
        "20 bytes, and was written with 16",
    ),
    ("fixed renamed", HASH, {**HASH, "name": "Md5"}, [("NAME_MISMATCH", "/name")], "fixed Md5"),
    ("fixed read as bytes", HASH, "bytes", [("TYPE_MISMATCH", "/")], "fixed Hash"),
    (
        "items widened",
        {"type": "array", "items": "int"},
        {"type": "array", "items": "long"},
        [],
        "",
    ),
    (
        "items narrowed",
        {"type": "array", "items": "long"},
        {"type": "array", "items": "int"},
        [("TYPE_MISMATCH", "/items")],
        "[]",
    ),
    (
        "values narrowed",
        {"type": "map", "values": "long"},
        {"type": "map", "values": "int"},
        [("TYPE_MISMATCH", "/values")],
        "{}",
    ),
    (
        "array read as a map",
        {"type": "array", "items": "int"},
        {"type": "map", "values": "int"},
        [("TYPE_MISMATCH", "/")],
        "array of int",
    ),
    (
        "field of a field added",
        record(("p", PLACE)),
        record(("p", PLACE_WITH_ZIP)),
        [(DEFAULT, "/fields/0/type/fields/1")],
        "Order.p.zip",
    ),
    ("with a default", record(("p", PLACE)), record(("p", PLACE_WITH_DEFAULT)), [], ""),
    (
        "in a list",
        record(("p", {"type": "array", "items": PLACE})),
        record(("p", {"type": "array", "items": PLACE_WITH_ZIP})),
        [(DEFAULT, "/fields/0/type/items/fields/1")],
        "Order.p[].zip",
    ),
    (
        "in an optional field",
        record(("p", ["null", PLACE])),
        record(("p", ["null", PLACE_WITH_ZIP])),
        [("MISSING_UNION_BRANCH", "/fields/0/type/1")],
        "Order.p.zip has no default",
    ),
    (
        "made optional, and a field added",
        record(("p", PLACE)),
        record(("p", ["null", PLACE_WITH_ZIP])),
        [("MISSING_UNION_BRANCH", "/fields/0/type")],
        "Order.p.zip",
    ),
    ("a tree", TREE, TREE, [], ""),
    ("a tree, widened", TREE, LONG_TREE, [], ""),
    (
        "a tree, narrowed",
        LONG_TREE,
        TREE,
        [("TYPE_MISMATCH", "/fields/1/type")],
        "Tree.value is int",
    ),
    (
        "logical type added",
        record(("a", "long")),
        record(("a", {"type": "long", "logicalType": "timestamp-millis"})),
        [],
        "",
    ),
]


def oracle_accepts(reader: Any, writer: Any) -> bool:
    result = ReaderWriterCompatibilityChecker().get_compatibility(
        make_avsc_object(reader), make_avsc_object(writer)
    )
    return bool(result.compatibility is SchemaCompatibilityType.compatible)


def verdict(reader: Any, writer: Any) -> list[tuple[str, str]]:
    return [(each.kind, each.path) for each in findings(avro(reader), avro(writer))]


@pytest.mark.parametrize(("what", "writer", "reader", "expected", "text"), PAIRS)
def test_a_pair(
    what: str, writer: Any, reader: Any, expected: list[tuple[str, str]], text: str
) -> None:
    found = findings(avro(reader), avro(writer))
    assert [(each.kind, each.path) for each in found] == expected
    assert text in "; ".join(map(str, found))
    assert oracle_accepts(reader, writer) == (not expected)


@pytest.mark.parametrize("reader", PRIMITIVES)
@pytest.mark.parametrize("writer", PRIMITIVES)
def test_primitive_types_are_read_as_the_specification_promotes_them(
    writer: str, reader: str
) -> None:
    accepted = writer == reader or (writer, reader) in PROMOTED
    for wrap in (
        lambda of: of,
        lambda of: {"type": "array", "items": of},
        lambda of: {"type": "map", "values": of},
        lambda of: record(("f", of)),
        lambda of: [of],
        lambda of: record(("f", record(("g", {"type": "array", "items": of}), name="Inner"))),
    ):
        assert (verdict(wrap(reader), wrap(writer)) == []) == accepted
        assert oracle_accepts(wrap(reader), wrap(writer)) == accepted


@st.composite
def types(draw: st.DrawFn, depth: int = 3) -> Any:
    """A type whose named types have names of their own depth: none is defined twice."""
    kinds = ["primitive"] * 3 + ["enum", "fixed"]
    kinds += ["array", "map", "record", "record", "union"] if depth else []
    kind = draw(st.sampled_from(kinds))
    if kind == "primitive":
        return draw(st.sampled_from(PRIMITIVES))
    name = f"{draw(st.sampled_from('AB'))}{draw(st.uuids()).hex}"
    if kind == "enum":
        symbols = draw(st.lists(st.sampled_from("PQR"), min_size=1, unique=True))
        extra = {"default": symbols[0]} if draw(st.booleans()) else {}
        return {"type": "enum", "name": name, "symbols": symbols, **extra}
    if kind == "fixed":
        return {"type": "fixed", "name": name, "size": draw(st.sampled_from([4, 8]))}
    if kind == "array":
        return {"type": "array", "items": draw(types(depth - 1))}
    if kind == "map":
        return {"type": "map", "values": draw(types(depth - 1))}
    if kind == "union":
        branches = draw(st.lists(st.sampled_from(PRIMITIVES), min_size=1, unique=True))
        if draw(st.booleans()):
            inner = draw(types(depth - 1))
            if isinstance(inner, dict):
                branches.append(inner)
        return branches
    names = draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=3))
    return record(*((each, draw(types(depth - 1))) for each in names), name=name)


@st.composite
def changed(draw: st.DrawFn, of: Any) -> Any:
    """A type after some changes: random pairs would hardly ever be compatible."""
    if not isinstance(of, dict) and draw(st.integers(0, 9)) == 0:
        return draw(types(0))
    if isinstance(of, str):
        optional = of if of == "null" else ["null", of]
        return draw(st.sampled_from([of, of, "long", "double", optional, "string"]))
    if isinstance(of, list):
        kept = draw(st.permutations(of))[: draw(st.integers(1, len(of)))]
        return [each if isinstance(each, str) else draw(changed(each)) for each in kept]
    kind = of["type"]
    if kind == "array":
        return {**of, "items": draw(changed(of["items"]))}
    if kind == "map":
        return {**of, "values": draw(changed(of["values"]))}
    if kind == "enum":
        return {**of, "symbols": [*of["symbols"], "NEW"]} if draw(st.booleans()) else of
    if kind == "fixed":
        return {**of, "size": draw(st.sampled_from([of["size"], 16]))}
    fields = [{**each, "type": draw(changed(each["type"]))} for each in of["fields"]]
    if fields and draw(st.booleans()):
        fields.pop(draw(st.integers(0, len(fields) - 1)))
    if draw(st.booleans()):
        extra = {"default": 1} if draw(st.booleans()) else {}
        fields.append({"name": "added", "type": "int", **extra})
    if fields and draw(st.integers(0, 3)) == 0:
        fields[0] = {**fields[0], "name": "renamed", "aliases": [fields[0]["name"]]}
        fields[0].pop("default", None)
    return {**of, "fields": fields}


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_random_pairs_have_the_verdict_of_avros_library(data: st.DataObject) -> None:
    writer = data.draw(types())
    reader = data.draw(changed(writer))
    for one, other in ((reader, writer), (writer, reader)):
        assert (verdict(one, other) == []) == oracle_accepts(one, other), json.dumps([one, other])

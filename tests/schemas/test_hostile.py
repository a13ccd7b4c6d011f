"""Schemas of whoever may register some: small ones that would take for ever to check."""

import json
from collections.abc import Callable
from time import thread_time
from typing import Any

import pytest

from barnabas.registry.model.checks import UnusableSchemaError
from barnabas.registry.model.contents import SchemaContent
from barnabas.registry.schema_checks import ParsedChecks
from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.compatibility import findings
from barnabas.schemas.json_schema.patterns import matches
from barnabas.schemas.schema import InvalidSchemaError
from tests.schemas.making import avro, json_schema, proto

_MANY = 40


def cpu_s(act: Callable[[], object]) -> float:
    before_s = thread_time()
    act()
    return thread_time() - before_s


def avro_chain(last: str) -> Any:
    """Each record has the one before twice: 2**40 paths to the first."""
    fields: list[Any] = [{"name": "f", "type": record("R0", [{"name": "x", "type": last}])}]
    for number in range(1, _MANY):
        inner = [{"name": name, "type": f"R{number - 1}"} for name in "ab"]
        fields.append({"name": f"f{number}", "type": record(f"R{number}", inner)})
    return record("Root", fields)


def record(name: str, fields: list[Any]) -> Any:
    return {"type": "record", "name": name, "fields": fields}


def json_chain(last: str) -> Any:
    properties = {
        f"d{number}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/definitions/d{number + 1}"} for name in "ab"},
        }
        for number in range(_MANY)
    }
    definitions = {**properties, f"d{_MANY}": {"type": last}}
    return {"definitions": definitions, "$ref": "#/definitions/d0"}


@pytest.mark.parametrize(
    ("make", "chain"), [(avro, avro_chain), (json_schema, json_chain)], ids=["avro", "json"]
)
def test_what_is_reached_in_many_ways_is_compared_once(
    make: Callable[[Any], Any], chain: Callable[[str], Any]
) -> None:
    assert not findings(make(chain("string")), make(chain("string")))


@pytest.mark.parametrize(
    ("make", "chain"), [(avro, avro_chain), (json_schema, json_chain)], ids=["avro", "json"]
)
def test_a_comparison_ends(make: Callable[[Any], Any], chain: Callable[[str], Any]) -> None:
    """What is found has a path of its own for each way to it."""
    other = "int" if make is avro else "integer"
    with pytest.raises(InvalidSchemaError, match="takes more than"):
        findings(make(chain(other)), make(chain("string")), CheckTime(thread_time, 0.1))


def test_branches_in_branches_end() -> None:
    def nested(depth: int, kind: str) -> Any:
        if not depth:
            return {"type": "object", "properties": {"x": {"type": kind}}}
        inner = [{**nested(depth - 1, kind), "title": str(each)} for each in range(25)]
        return {"anyOf": inner}

    read, written = nested(2, "null"), {"allOf": [nested(2, "string")] * 4}
    with pytest.raises(InvalidSchemaError, match="takes more than"):
        findings(json_schema(read), json_schema(written), CheckTime(thread_time, 0.1))


def test_a_default_is_tried_once_for_each_type() -> None:
    both = ["A", "B", "null"]
    inner = record("B", [{"name": "f", "type": both}])
    value: Any = 1
    for _ in range(_MANY):
        value = {"f": value}
    fields = [{"name": "f", "type": ["A", inner, "null"]}]
    root = record("Root", [{"name": "a", "type": record("A", fields), "default": value}])
    with pytest.raises(InvalidSchemaError, match="its default"):
        avro(root)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(.*a){20}", "^(a|b|ab)*(?=c)$"])
def test_a_pattern_takes_no_exponential_time(pattern: str) -> None:
    assert cpu_s(lambda: matches(pattern, "a" * 60 + "!")) < 1.0


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^a.c$", "abc", True),
        ("x|c$", "abc", True),
        ("^(?!x-)", "abc", True),
        ("^(?!x-)", "x-abc", False),
        (r"\bfoo\b", "a foo b", True),
        ("(", "abc", False),
        ("(?:a+)+(?=b)", "aab", False),  # could take too long
    ],
)
def test_patterns_are_found_anywhere(pattern: str, text: str, is_found: bool) -> None:
    assert matches(pattern, text) is is_found


def test_many_symbols_numbers_and_fields_are_checked_in_turn() -> None:
    """Each in seconds, not minutes."""
    symbols = [f"s{number}" for number in range(20_000)]
    enum = {"type": "enum", "name": "E", "symbols": symbols}
    fields = [{"name": f"f{number}", "type": "int"} for number in range(5_000)]
    ranges = ",".join(str(2 * number) for number in range(10_000, 20_000))
    odd = "\n".join(f"int32 f{n} = {2 * n + 1};" for n in range(10_000, 15_000))
    file = f'syntax = "proto3";\nmessage M {{ reserved {ranges}; {odd} }}'

    def work() -> None:
        findings(avro(enum), avro(enum))
        findings(avro(record("R", fields)), avro(record("R", fields)))
        proto(file)

    assert cpu_s(work) < 5.0


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", json.dumps({"type": "string", "p": 0}).replace("0", "[" * 900 + "]" * 900)),
        ("JSON", '{"default":' + '{"a":' * 450 + "1" + "}" * 450 + "}"),
        ("JSON", '{"maxLength":1e999}'),
        ("JSON", '{"maximum":1e999}'),
        ("PROTOBUF", "message M { int32 a = " + "1" * 10_000 + "; }"),
    ],
    ids=["lists", "objects", "size", "number", "digits"],
)
def test_what_can_not_be_parsed_is_refused_as_any_schema(kind: str, text: str) -> None:
    checks = ParsedChecks()
    content = SchemaContent(kind, text)

    def resolve(reference: object) -> SchemaContent:
        raise LookupError(reference)

    with pytest.raises(UnusableSchemaError):
        checks.canonical(content, resolve, normalize=True)

"""What a JSON Schema may not contain. Messages say where it is."""

import json
import math
import re

from barnabas.schemas.json_schema.documents import SchemaDocuments, subschemas
from barnabas.schemas.schema import InvalidSchemaError, Json, JsonObject

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SIZES = frozenset(
    {
        *("maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"),
        *("minContains", "maxContains"),
    }
)
_NUMBERS = ("maximum", "minimum", "multipleOf")
_EITHER = ("exclusiveMaximum", "exclusiveMinimum")
_OBJECTS = frozenset(
    {
        *("properties", "patternProperties", "definitions", "$defs", "dependencies"),
        *("dependentRequired", "dependentSchemas"),
    }
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_TEXTS = frozenset({"$ref", "$id", "$schema", "title", "description", "pattern", "format"})


def validate(documents: SchemaDocuments) -> None:
    """Raises InvalidSchemaError."""
    _check(documents, documents.root, "#", set())


def _check(documents: SchemaDocuments, schema: Json, path: str, seen: set[int]) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise _error(path, f"a schema is an object, true or false, got {json.dumps(schema)}")
    if id(schema) in seen:
        return
    seen.add(id(schema))
    _check_type(schema, path)
    _check_values(schema, path)
    if documents.reference_of(schema) is not None:
        try:
            documents.referred(schema)
        except LookupError as error:
            raise _error(f"{path}/$ref", str(error.args[0])) from None
    for steps, each in subschemas(schema):
        _check(documents, each, "/".join((path, *steps)), seen)


def _check_type(schema: JsonObject, path: str) -> None:
    named = schema.get("type")
    if named is None:
        if "type" in schema:
            raise _error(f"{path}/type", 'null is no type; write "null"')
        return
    many = named if isinstance(named, list) else [named]
    for each in many:
        if each not in TYPES:
            known = ", ".join(TYPES)
            raise _error(f"{path}/type", f"unknown type {json.dumps(each)}; use {known}")
    if not many or len(set(map(str, many))) < len(many):
        raise _error(f"{path}/type", "a list of types has each once, and at least one")


def _check_values(schema: JsonObject, path: str) -> None:
    for key, value in schema.items():
        where = f"{path}/{key}"
        number = value if isinstance(value, int | float) and _is_number(value) else None
        if key in _SIZES and (number is None or number < 0 or number != int(number)):
            raise _error(where, f"a number that is not negative, got {json.dumps(value)}")
        if key in _NUMBERS and not _is_number(value):
            raise _error(where, f"a number, got {json.dumps(value)}")
        if key == "multipleOf" and not (number or 0) > 0:
            raise _error(where, f"a number above 0, got {json.dumps(value)}")
        if key in _EITHER and not isinstance(value, bool) and not _is_number(value):
            raise _error(where, f"a number, got {json.dumps(value)}")
        if key in _OBJECTS and not isinstance(value, dict):
            raise _error(where, f"an object, got {json.dumps(value)}")
        if key in _LISTS and (not isinstance(value, list) or not value):
            raise _error(where, "a list of at least one schema")
        if key in _TEXTS and not isinstance(value, str):
            raise _error(where, f"a text, got {json.dumps(value)}")
        if key == "enum" and not isinstance(value, list):
            raise _error(where, f"a list of values, got {json.dumps(value)}")
        if key == "required" and not isinstance(value, bool):  # a boolean is from draft 3
            _check_names(value, where)
        if key == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                _check_pattern(pattern, where)


def _check_names(value: Json, path: str) -> None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _error(path, f"a list of names, got {json.dumps(value)}")
    if len(set(map(str, value))) < len(value):
        raise _error(path, "a list that has each name once")


def _check_pattern(pattern: str, path: str) -> None:
    if pattern.count("(") != pattern.count(")") and "\\" not in pattern and "[" not in pattern:
        try:
            re.compile(pattern)
        except (re.error, RecursionError) as error:
            raise _error(path, f"{pattern!r} is no regular expression: {error}") from None


def _is_number(value: Json) -> bool:
    """1e999 is infinite when it is read."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _error(path: str, problem: str) -> InvalidSchemaError:
    return InvalidSchemaError(f"{path}: {problem}")

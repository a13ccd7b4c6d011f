"""Types and values that a schema allows."""

import json

from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.json_schema.place import JsonPlace
from barnabas.schemas.json_schema.validation import TYPES
from barnabas.schemas.json_schema.views import many
from barnabas.schemas.schema import Json, JsonObject


def types(schemas: list[JsonObject]) -> set[str]:
    """The types of values that meet all schemas; `integer` only where not all numbers do."""
    found = set(TYPES) - {"integer"}
    for schema in schemas:
        found = _both(found, _own_types(schema))
    return found


def _own_types(schema: JsonObject) -> set[str]:
    named = schema.get("type")
    found = set(TYPES) - {"integer"}
    if isinstance(named, str):
        found = {named}
    elif isinstance(named, list):
        found = {each for each in named if isinstance(each, str)}
    values = _values(schema)
    if values is not None:
        found = _both(found, {_type_of(each) for each in values})
    return found - {"integer"} if "number" in found else found


def _both(one: set[str], other: set[str]) -> set[str]:
    found = one & other
    if ("integer" in one and "number" in other) or ("number" in one and "integer" in other):
        found.add("integer")
    return found


def overlap(one: set[str], other: set[str]) -> bool:
    return bool(_both(one, other))


def _values(schema: JsonObject) -> list[Json] | None:
    if "const" not in schema:
        return many(schema, "enum") if "enum" in schema else None
    const = schema["const"]
    excluded = "enum" in schema and _plain(const) not in map(_plain, many(schema, "enum"))
    return [] if excluded else [const]


def _type_of(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    names_of: list[tuple[type, str]] = [(str, "string"), (list, "array"), (dict, "object")]
    return next((name for kind, name in names_of if isinstance(value, kind)), "null")


def type_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    if "type" not in reader:
        return []
    named = reader["type"]
    wanted = {
        each for each in (named if isinstance(named, list) else [named]) if isinstance(each, str)
    }
    held = types(writers)
    refused = {
        each
        for each in held
        if each not in wanted and not (each == "integer" and "number" in wanted)
    }
    if not refused:
        return []
    old, new = " or ".join(sorted(held)), " or ".join(sorted(wanted))
    if len(held) == len(TYPES) - 1:
        old = "any type"
    message = f"{place.named} is {new}, and may have been written as {old}"
    narrowed = overlap(held, wanted)
    return [place.found("TYPE_NARROWED" if narrowed else "TYPE_CHANGED", message, old, new)]


def enum_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    wanted = _values(reader)
    if wanted is None:
        return []
    key = place.keyword("const" if "const" in reader else "enum")
    texts = {_plain(each) for each in wanted}
    held: list[set[str]] = []
    for writer in writers:
        values = _values(writer)
        if values is not None:
            held.append({_plain(each) for each in values})
    new = ", ".join(sorted(texts))
    if not held:
        message = f"{place.named} is one of {new}, and may have been written with other values"
        return [key.found("ENUM_ARRAY_NARROWED", message, None, new)]
    both = set.intersection(*held)
    refused = sorted(both - texts)
    if not refused:
        return []
    kind = "ENUM_ARRAY_NARROWED" if texts <= both else "ENUM_ARRAY_CHANGED"
    message = f"{place.named} no longer accepts {', '.join(refused)}, which may have been written"
    return [key.found(kind, message, ", ".join(sorted(both)), new)]


def _plain(value: Json) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)

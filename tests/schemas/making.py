"""Short ways to schemas."""

import json
from typing import Any

from barnabas.schemas.parsing import ParsedSchema, parse
from barnabas.schemas.schema import Schema, SchemaKind, SchemaReference


def avro(definition: Any, **references: Any) -> ParsedSchema:
    return _json(SchemaKind.AVRO, definition, references)


def json_schema(definition: Any, **references: Any) -> ParsedSchema:
    return _json(SchemaKind.JSON, definition, references)


def _json(kind: SchemaKind, definition: Any, references: dict[str, Any]) -> ParsedSchema:
    known = {name: Schema(kind, json.dumps(each)) for name, each in references.items()}
    wanted = tuple(SchemaReference(name, name, 1) for name in known)
    return parse(Schema(kind, json.dumps(definition), wanted), lambda each: known[each.name])


def record(*fields: Any, name: str = "Order", **more: Any) -> dict[str, Any]:
    """An Avro record of pairs of name and type, with a default as a third value."""
    made = []
    for field in fields:
        if isinstance(field, dict):
            made.append(field)
        else:
            extra = {"default": field[2]} if len(field) == 3 else {}
            made.append({"name": field[0], "type": field[1], **extra})
    return {"type": "record", "name": name, "fields": made, **more}


def proto(text: str, **references: str) -> ParsedSchema:
    """References by the stem of their path: `place` is imported as place.proto."""
    known = {
        f"{name}.proto": Schema(SchemaKind.PROTOBUF, each) for name, each in references.items()
    }
    wanted = tuple(SchemaReference(name, name, 1) for name in known)
    return parse(Schema(SchemaKind.PROTOBUF, text, wanted), lambda each: known[each.name])


def proto3(*lines: str, **references: str) -> ParsedSchema:
    return proto("\n".join(('syntax = "proto3";', *lines)), **references)

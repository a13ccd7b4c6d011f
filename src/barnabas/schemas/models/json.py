"""Models to JSON Schema. pydantic and msgspec describe their own.

Objects are closed, so that a field can be added with a default without breaking readers.
"""

import dataclasses
import json
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, is_typeddict
from uuid import UUID

from barnabas.schemas.models.fields import MISSING_DEFAULT, ModelField, fields_of, is_model
from barnabas.schemas.models.json_types import JsonTypes, Schema
from barnabas.schemas.schema import InvalidSchemaError, Json, JsonObject

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"


def json_schema_of(model: type) -> JsonObject:
    """The JSON Schema of a dataclass, TypedDict, pydantic model or msgspec struct.

        json.dumps(barnabas.schemas.json_schema_of(Order))

    Raises `InvalidSchemaError`, which names the field that has no counterpart in JSON.
    """
    if not is_model(model):
        raise InvalidSchemaError(
            f"{model!r} has no fields: give a dataclass, a TypedDict, a pydantic model or a "
            "msgspec struct"
        )
    found = _ModelTypes(model.__name__)
    place = found.of(model)
    name = place["$ref"].removeprefix(_REFERENCE)
    is_recursive = json.dumps(place)[1:-1] in json.dumps(found.named)
    root = {"title": model.__name__, **place} if is_recursive else found.named.pop(name)
    schema: Schema = {"$schema": _DRAFT, **root}
    if found.named:
        schema["$defs"] = found.named
    _close(schema)
    return schema


class _ModelTypes(JsonTypes):
    """Each type that can't be described is an error."""

    def __init__(self, path: str) -> None:
        super().__init__(_REFERENCE)
        self._path = path

    def _unknown(self, hint: Any) -> Schema:
        shown = hint.__name__ if isinstance(hint, type) else hint
        raise InvalidSchemaError(
            f"{self._path}: {shown} has no counterpart in JSON; use bool, int, float, str, bytes, "
            "date, time, datetime, UUID, Decimal, an enum, list[T], dict[str, T], T | None or a "
            "model"
        )

    def _docstring(self, _: type) -> Schema:
        """None: a schema is another one if its text is."""
        return {}

    def _described(self, kind: Any) -> Schema | None:
        described = self._of_library(kind)
        if described is None and (is_typeddict(kind) or dataclasses.is_dataclass(kind)):
            return self._fields(kind)
        return described or super()._described(kind)

    def _fields(self, kind: Any) -> Schema:
        above, required = self._path, []
        properties = {}
        for each in fields_of(kind):
            self._path = f"{kind.__name__}.{each.name}"
            properties[each.name] = self.of(each.hint) | self._default(each)
            if each.factory is None and each.default is MISSING_DEFAULT:
                required += [] if each.may_be_left_out else [each.name]
        self._path = above
        return {"type": "object", "properties": properties, "required": required}

    def _default(self, field: ModelField) -> Schema:
        try:
            if field.default is not MISSING_DEFAULT:
                return {"default": _plain(field.default)}
            if field.factory is not None:
                made = [_plain(field.factory(), is_made=True) for _ in range(2)]
                return {"default": made[0]} if made[0] == made[1] else {}
        except TypeError:
            pass
        return {}


def _plain(value: Any, *, is_made: bool = False) -> Json:
    """As JSON; `is_made` if a factory made it, which may be the time or an id. Or TypeError."""
    match value:
        case Enum():
            return _plain(value.value)
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple() | set() | frozenset():
            return [_plain(each, is_made=is_made) for each in value]
        case dict():
            return {str(name): _plain(each, is_made=is_made) for name, each in value.items()}
        case datetime() | date() | time() if not is_made:
            return value.isoformat()
        case Decimal() | UUID() if not is_made:
            return str(value)
    raise TypeError


def _close(schema: Any) -> None:
    """Allow no other properties than those that are named."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    for each in _within(schema):
        if isinstance(each, dict):
            _close(each)


def _within(schema: Schema) -> Iterator[Any]:
    for key in ("properties", "$defs"):
        yield from schema.get(key, {}).values()
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from schema.get(key, [])
    yield schema.get("items")
    yield schema.get("additionalProperties")

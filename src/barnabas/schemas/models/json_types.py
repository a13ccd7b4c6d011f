"""Types as JSON Schema: those of the standard library here, others by their own libraries.

`JsonTypes.of` returns what stands in the place of a type, and keeps types that have names, so that
each is described once.
"""

import dataclasses
import inspect
import sys
import types
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

Schema = dict[str, Any]

_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "string", "format": "decimal"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    time: {"type": "string", "format": "time"},
    timedelta: {"type": "string", "format": "duration"},
    UUID: {"type": "string", "format": "uuid"},
    types.NoneType: {"type": "null"},
}


class JsonTypes:
    """The schemas of all named types that were asked for, for people to read."""

    def __init__(self, reference: str) -> None:
        """`reference` is what the name of a type follows in `$ref`."""
        self.reference = reference
        self.named: dict[str, Schema] = {}
        self._names: dict[Any, str] = {}

    def of(self, hint: Any) -> Schema:
        """What describes a type. One that can't be described is anything."""
        if hint in _SIMPLE:
            return dict(_SIMPLE[hint])
        origin = get_origin(hint)
        if origin is not None:
            return self._composed(origin, get_args(hint))
        if not isinstance(hint, type):
            return self._unknown(hint)
        return self._class(hint)

    def _unknown(self, hint: Any) -> Schema:
        """What stands for a type that can't be described."""
        is_class = isinstance(hint, type)
        return {"description": f"{hint.__module__}.{hint.__qualname__}"} if is_class else {}

    def _composed(self, origin: Any, arguments: tuple[Any, ...]) -> Schema:
        if origin is Annotated:
            return self.of(arguments[0])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in arguments]}
        if origin in (list, set, frozenset):
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is tuple:
            if len(arguments) == 2 and arguments[1] is ...:
                return {"type": "array", "items": self.of(arguments[0])}
            count = len(arguments)
            items = [self.of(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return self._unknown(origin[arguments])

    def _class(self, kind: type) -> Schema:
        if kind in (dict, list):
            return {"type": "object" if kind is dict else "array"}
        name = self._names.get(kind)
        if name is None:
            name = self._names[kind] = self._free_name(kind)
            self.named[name] = {}  # a type may contain itself
            described = self._described(kind)
            if described is None:
                del self.named[name], self._names[kind]
                return self._unknown(kind)
            self.named[name] = {"title": kind.__name__, **self._docstring(kind), **described}
        return {"$ref": f"{self.reference}{name}"}

    def _free_name(self, kind: type) -> str:
        if kind.__name__ not in self.named:
            return kind.__name__
        return f"{kind.__module__}.{kind.__qualname__}".replace("<locals>", "local")

    def _described(self, kind: Any) -> Schema | None:
        if issubclass(kind, Enum):
            return {"enum": [each.value for each in kind]}
        of_library = self._of_library(kind)
        if of_library is not None:
            return of_library
        if is_typeddict(kind):
            return self._object(get_type_hints(kind), sorted(kind.__required_keys__))
        if dataclasses.is_dataclass(kind):
            fields = [each for each in dataclasses.fields(kind) if each.init]
            hints = get_type_hints(kind)
            needed = [
                each.name
                for each in fields
                if each.default is dataclasses.MISSING
                and each.default_factory is dataclasses.MISSING
            ]
            return self._object({each.name: hints[each.name] for each in fields}, needed)
        return None

    def _object(self, hints: Mapping[str, Any], required: list[str]) -> Schema:
        properties = {name: self.of(hint) for name, hint in hints.items()}
        return {"type": "object", "properties": properties, "required": required}

    def _of_library(self, kind: Any) -> Schema | None:
        """A library is asked only if the application has imported it."""
        pydantic = sys.modules.get("pydantic")
        if pydantic is not None and issubclass(kind, pydantic.BaseModel):
            schema: Schema = kind.model_json_schema(ref_template=f"{self.reference}{{model}}")
            self.named.update(schema.pop("$defs", {}))
            if schema.keys() == {"$ref"}:  # it contains itself
                schema = self.named.pop(schema["$ref"].removeprefix(self.reference))
            return schema
        msgspec = sys.modules.get("msgspec")
        if msgspec is not None and issubclass(kind, msgspec.Struct):
            (_,), named = msgspec.json.schema_components(
                [kind], ref_template=f"{self.reference}{{name}}"
            )
            own: Schema = named.pop(kind.__name__)
            self.named.update(named)
            return own
        if hasattr(kind, "DESCRIPTOR") and hasattr(kind, "SerializeToString"):
            return {"description": f"message {kind.DESCRIPTOR.full_name} of protobuf"}
        return None

    def _docstring(self, kind: type) -> Schema:
        """What a class says of itself; a dataclass without one gets its signature as one."""
        text = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
        return {"description": text} if text and not text.startswith(f"{kind.__name__}(") else {}

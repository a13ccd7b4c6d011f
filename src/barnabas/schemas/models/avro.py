"""Models to Avro.

| annotation | Avro |
|---|---|
| `bool`, `int`, `float`, `str`, `bytes` | boolean, long, double, string, bytes |
| `datetime`, `date`, `time` | timestamp-micros, date, time-micros |
| `Annotated[Decimal, Digits(12, 2)]`, `UUID` | decimal, uuid |
| `list[T]`, `set[T]`, `tuple[T, ...]` | array |
| `dict[str, T]` | map |
| `T | None`, `A | B` | union |
| enums and `Literal` of texts that are symbols | enum |
| models | record |
"""

import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.models.defaults import NotInSchemaError, default_json
from barnabas.schemas.models.digits import digits_in
from barnabas.schemas.models.fields import MISSING_DEFAULT, ModelField, fields_of, is_model
from barnabas.schemas.schema import InvalidSchemaError, Json, JsonObject

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE: dict[Any, Json] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    types.NoneType: "null",
    None: "null",
    datetime: {"type": "long", "logicalType": "timestamp-micros"},
    date: {"type": "int", "logicalType": "date"},
    time: {"type": "long", "logicalType": "time-micros"},
    UUID: {"type": "string", "logicalType": "uuid"},
}
_LISTS = (list, set, frozenset, Sequence)
_HINT = (
    "use bool, int, float, str, bytes, date, time, datetime, UUID, "
    "Annotated[Decimal, Digits(12, 2)], an enum, list[T], dict[str, T], T | None or a model"
)


def avro_of(model: type, *, namespace: str = "") -> JsonObject:
    """The Avro schema of a dataclass, TypedDict, pydantic model or msgspec struct, as JSON.

        json.dumps(barnabas.schemas.avro_of(Order, namespace="shop"))

    Fields with a default have it in the schema too, so that a consumer with the new model reads
    records without them. Raises `InvalidSchemaError`, which names the field that has no
    counterpart in Avro.
    """
    if not is_model(model):
        raise InvalidSchemaError(
            f"{model!r} has no fields: give a dataclass, a TypedDict, a pydantic model or a "
            "msgspec struct"
        )
    if namespace and not all(map(_SYMBOL.fullmatch, namespace.split("."))):
        raise InvalidSchemaError(f"namespace={namespace!r}: use names with dots between them")
    found = _AvroTypes(namespace).of(model, model.__name__)
    assert isinstance(found, dict)
    if namespace:
        found = {"type": "record", "name": model.__name__, "namespace": namespace, **found}
    AvroParser().parse(json.dumps(found))
    return found


class _AvroTypes:
    """The types of one schema. A named type that is used again is its name."""

    def __init__(self, namespace: str) -> None:
        self._prefix = f"{namespace}." if namespace else ""
        self._classes: dict[str, Any] = {}
        self.named: dict[str, JsonObject] = {}

    def of(self, hint: Any, path: str) -> Json:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            inner, *annotations = arguments
            if inner is Decimal:
                return self._decimal(annotations, path)
            return self.of(inner, path)
        if isinstance(hint, NewType):
            return self.of(hint.__supertype__, path)
        if hasattr(hint, "__value__"):  # `type Name = ...`
            return self.of(hint.__value__, path)
        if hint in _SIMPLE:
            return _SIMPLE[hint]
        if origin is Literal:
            return self._literal(arguments, hint, path)
        if origin in (Union, types.UnionType):
            return self._union(arguments, path)
        if origin in _LISTS or (origin is tuple and arguments[1:] == (...,)):
            return {"type": "array", "items": self.of(arguments[0], f"{path}[]")}
        if origin in (dict, Mapping):
            return self._map(arguments, path)
        if hint is Decimal:
            return self._decimal((), path)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self._enum(hint, path)
        if is_model(hint):
            return self._record(hint, path)
        shown = hint.__name__ if isinstance(hint, type) and origin is None else hint
        raise InvalidSchemaError(f"{path}: {shown} has no counterpart in Avro; {_HINT}")

    def _decimal(self, annotations: Sequence[object], path: str) -> JsonObject:
        digits = digits_in(annotations)
        if digits is None:
            raise InvalidSchemaError(
                f"{path}: Avro needs the number of digits of a Decimal; write "
                "Annotated[Decimal, Digits(12, 2)] for 12 digits with 2 after the point"
            )
        size: JsonObject = {"precision": digits.precision, "scale": digits.scale}
        return {"type": "bytes", "logicalType": "decimal", **size}

    def _map(self, arguments: tuple[Any, ...], path: str) -> JsonObject:
        key, value = arguments
        if key is not str:
            raise InvalidSchemaError(f"{path}: keys of a map in Avro are str, got {key!r}")
        return {"type": "map", "values": self.of(value, f"{path}{{}}")}

    def _union(self, arguments: tuple[Any, ...], path: str) -> list[Json]:
        branches = list(_flattened(self.of(each, path) for each in arguments))
        branches.sort(key=lambda each: each != "null")
        seen: dict[str, Json] = {}
        for each in branches:
            name = _branch_name(each)
            if name in seen:
                raise InvalidSchemaError(
                    f"{path}: a union in Avro can't have two types that are both {name}; put one "
                    "of them into a model of its own"
                )
            seen[name] = each
        return branches

    def _literal(self, values: tuple[Any, ...], hint: Any, path: str) -> Json:
        for one in (bool, int, str):
            if all(type(each) is one for each in values):
                break
        else:
            raise InvalidSchemaError(f"{path}: {hint} mixes types; give them the same type")
        if one is not str:
            return _SIMPLE[one]
        name = "_".join(part.strip("[]{}") for part in path.split("."))
        return self._symbols(name, hint, values, path)

    def _enum(self, kind: type[Enum], path: str) -> Json:
        values = [each.value for each in kind]
        if values and all(type(each) is int for each in values):
            return "long"
        return self._symbols(kind.__name__, kind, values, path)

    def _symbols(self, name: str, owner: Any, values: Sequence[Any], path: str) -> Json:
        for each in values:
            if not isinstance(each, str) or _SYMBOL.fullmatch(each) is None:
                raise InvalidSchemaError(
                    f"{path}: {each!r} is not a symbol of an Avro enum, which has letters, digits "
                    "and _ only; change the values, or use str"
                )
        if self._is_known(name, owner, path):
            return self._prefix + name
        found: JsonObject = {"type": "enum", "name": name, "symbols": list(values)}
        self.named[self._prefix + name] = found
        return found

    def _record(self, kind: type, path: str) -> Json:
        if self._is_known(kind.__name__, kind, path):
            return self._prefix + kind.__name__
        fields: list[Json] = []
        found: JsonObject = {"type": "record", "name": kind.__name__, "fields": fields}
        self.named[self._prefix + kind.__name__] = found  # before its fields, which may use it
        fields += [self._field(each, f"{kind.__name__}.{each.name}") for each in fields_of(kind)]
        return found

    def _is_known(self, name: str, owner: Any, path: str) -> bool:
        known = self._classes.setdefault(name, owner)
        if known != owner:
            raise InvalidSchemaError(f"{path}: another type is called {name}; rename one of them")
        return self._prefix + name in self.named

    def _field(self, field: ModelField, path: str) -> JsonObject:
        if _SYMBOL.fullmatch(field.name) is None:
            raise InvalidSchemaError(
                f"{path}: {field.name!r} is not a name in Avro, which has letters, digits and _"
            )
        if field.may_be_left_out:
            raise InvalidSchemaError(
                f"{path}: NotRequired has no counterpart in Avro; write T | None"
            )
        kind = self.of(field.hint, path)
        found: JsonObject = {"name": field.name, "type": kind}
        if field.default is not MISSING_DEFAULT:
            try:
                return {"name": field.name, **self._with_default(kind, field.default)}
            except NotInSchemaError:
                raise InvalidSchemaError(
                    f"{path}: its default {field.default!r} can't be written in Avro; give one "
                    "of its type"
                ) from None
        if field.factory is not None:
            found |= self._made_default(kind, field.factory)
        return found

    def _made_default(self, kind: Json, factory: Any) -> JsonObject:
        """Of a factory that makes the same each time, such as `list`, and not the time or an id."""
        try:
            made = [self._with_default(kind, factory()) for _ in range(2)]
        except (NotInSchemaError, TypeError):
            return {}
        is_constant = made[0] == made[1] and "logicalType" not in str(made[0]["type"])
        return made[0] if is_constant else {}

    def _with_default(self, kind: Json, value: Any) -> JsonObject:
        """A type and its default. That of a union is one of its first branch."""
        if not isinstance(kind, list):
            return {"type": kind, "default": default_json(kind, value, self.named)}
        for branch in kind:
            try:
                found = default_json(branch, value, self.named)
            except NotInSchemaError:
                continue
            others = [each for each in kind if each is not branch]
            return {"type": [branch, *others], "default": found}
        raise NotInSchemaError


def _flattened(branches: Iterator[Json]) -> Iterator[Json]:
    for each in branches:
        if isinstance(each, list):  # a union in a NewType or a `type` statement
            yield from each
        else:
            yield each


def _branch_name(branch: Json) -> str:
    """What has to be different in a union."""
    if isinstance(branch, dict):
        return str(branch.get("name") or branch["type"])
    return str(branch)

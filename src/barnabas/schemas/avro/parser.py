"""Reads the JSON of an Avro schema, and says in which field something is wrong."""

import json
import re

from barnabas.schemas.avro.defaults import default_problem
from barnabas.schemas.avro.types import (
    NO_DEFAULT,
    PRIMITIVES,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    NamedType,
    described,
    namespace_of,
)
from barnabas.schemas.schema import InvalidSchemaError, Json, JsonObject

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPLEX = ("record", "error", "enum", "fixed", "array", "map")
_NAMED = {"type", "name", "namespace", "doc", "aliases"}
_ORDERS = ("ascending", "descending", "ignore")
_MAX_DEPTH = 200


class AvroParser:
    """Parses schemas into types. Later schemas may use the named types of earlier ones."""

    def __init__(self, *, check_defaults: bool = True) -> None:
        self.named: dict[str, NamedType] = {}
        self.check_defaults = check_defaults
        self._depth = 0

    def parse(self, text: str) -> AvroType:
        """Raises InvalidSchemaError."""
        try:
            value: Json = json.loads(text)
        except ValueError as error:
            if _NAME.fullmatch(text.strip()) is None:
                raise InvalidSchemaError(
                    f"an Avro schema is JSON, and this is not: {error}"
                ) from None
            value = text.strip()
        except RecursionError:
            raise InvalidSchemaError("the schema is nested too deeply") from None
        return self._type(value, "", "")

    def _type(self, value: Json, namespace: str, path: str) -> AvroType:
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                raise _error(path, f"types are nested more than {_MAX_DEPTH} deep")
            if isinstance(value, str):
                return self._by_name(value, namespace, path)
            if isinstance(value, list):
                return self._union(value, namespace, path)
            if isinstance(value, dict):
                return self._object(value, namespace, path)
        finally:
            self._depth -= 1
        raise _error(path, f"a type is a name, an object or a list, got {json.dumps(value)}")

    def _by_name(self, name: str, namespace: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroPrimitive(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self.named.get(full) or self.named.get(name)
        if found is None:
            raise _error(path, f"unknown type {full!r}; add a reference to the schema that has it")
        return found

    def _union(self, branches: list[Json], namespace: str, path: str) -> AvroUnion:
        found = [self._type(each, namespace, path) for each in branches]
        seen = set()
        for each in found:
            if isinstance(each, AvroUnion):
                raise _error(path, "a union can't contain a union")
            key = each.name if isinstance(each, NamedType) else each.type
            if key in seen:
                raise _error(path, f"a union can't have {described(each)} twice")
            seen.add(key)
        return AvroUnion(found)

    def _object(self, value: JsonObject, namespace: str, path: str) -> AvroType:
        kind = value.get("type")
        if kind is None:
            raise _error(path, "a type needs 'type'")
        if isinstance(kind, dict | list):
            return self._type(kind, namespace, path)  # {"type": {"type": ...}}, which Java accepts
        if not isinstance(kind, str):
            raise _error(path, f"'type' is a name, got {json.dumps(kind)}")
        if kind in PRIMITIVES:
            return AvroPrimitive(kind, _others(value, {"type"}))
        if kind == "array":
            items = self._type(_needed(value, "items", path), namespace, f"{path}[]")
            return AvroArray(items, _others(value, {"type", "items"}))
        if kind == "map":
            values = self._type(_needed(value, "values", path), namespace, f"{path}{{}}")
            return AvroMap(values, _others(value, {"type", "values"}))
        if kind in _COMPLEX:
            return self._named_type(kind, value, namespace, path)
        return self._by_name(kind, namespace, path)

    def _named_type(self, kind: str, value: JsonObject, namespace: str, path: str) -> NamedType:
        name = self._full_name(value, namespace, path)
        path = path or name.rpartition(".")[2]
        if name in self.named:
            raise _error(path, f"{name!r} is defined twice")
        doc = value.get("doc")
        text = doc if isinstance(doc, str) else None
        aliases = _aliases(value, namespace_of(name), path)
        made: NamedType
        if kind == "fixed":
            size = value.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise _error(path, f"'size' of a fixed is a number of bytes, got {size!r}")
            made = AvroFixed(name, size, text, aliases, _others(value, _NAMED | {"size"}))
            self.named[name] = made
        elif kind == "enum":
            symbols, default = _symbols(value, path)
            others = _others(value, _NAMED | {"symbols", "default"})
            made = AvroEnum(name, symbols, default, text, aliases, others)
            self.named[name] = made
        else:
            others = _others(value, _NAMED | {"fields"})
            made = AvroRecord(name, [], kind == "error", text, aliases, others)
            self.named[name] = made  # before its fields, which may use it
            self._fields(made, value, path)
        return made

    def _fields(self, record: AvroRecord, value: JsonObject, path: str) -> None:
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise _error(path, "a record needs a list of 'fields'")
        names: set[str] = set()
        for position, each in enumerate(fields):
            if not isinstance(each, dict):
                raise _error(path, f"field {position} is not an object")
            made = self._field(each, namespace_of(record.name), path, position)
            if made.name in names:
                raise _error(f"{path}.{made.name}", "the record has this field twice")
            names.add(made.name)
            record.fields.append(made)
        if self.check_defaults:  # after all fields: a default may be a value of this record
            for made in record.fields:
                if made.default is not NO_DEFAULT:
                    problem = default_problem(made.type, made.default)
                    if problem is not None:
                        raise _error(f"{path}.{made.name}", f"its default {problem}")

    def _field(self, value: JsonObject, namespace: str, path: str, position: int) -> AvroField:
        name = value.get("name")
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise _error(path, f"field {position} has an invalid name: {json.dumps(name)}")
        inner = f"{path}.{name}"
        type_ = self._type(_needed(value, "type", inner), namespace, inner)
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise _error(inner, f"'order' is one of {', '.join(_ORDERS)}, got {json.dumps(order)}")
        doc = value.get("doc")
        return AvroField(
            name,
            type_,
            value.get("default", NO_DEFAULT),
            order.lower(),
            doc if isinstance(doc, str) else None,
            _aliases(value, "", inner),
            _others(value, {"name", "type", "default", "order", "doc", "aliases"}),
        )

    def _full_name(self, value: JsonObject, namespace: str, path: str) -> str:
        name = value.get("name")
        if not isinstance(name, str) or not name:
            raise _error(path, f"{value['type']} needs a 'name'")
        own = value.get("namespace")
        if "." not in name:
            space = own if isinstance(own, str) else namespace
            name = f"{space}.{name}" if space else name
        for part in name.split("."):
            if _NAME.fullmatch(part) is None:
                raise _error(path, f"invalid name {name!r}: letters, digits and _ are allowed")
        if name in PRIMITIVES:
            raise _error(path, f"{name!r} is a type of Avro and can't be the name of another one")
        return name


def _symbols(value: JsonObject, path: str) -> tuple[list[str], str | None]:
    symbols = value.get("symbols")
    if not isinstance(symbols, list):
        raise _error(path, "an enum needs a list of 'symbols'")
    found: dict[str, None] = {}  # in their order
    for each in symbols:
        if not isinstance(each, str) or _NAME.fullmatch(each) is None:
            raise _error(path, f"invalid symbol {json.dumps(each)}")
        if each in found:
            raise _error(path, f"the enum has symbol {each!r} twice")
        found[each] = None
    default = value.get("default")
    if default is None:
        return list(found), None
    if not isinstance(default, str) or default not in found:
        raise _error(path, f"its default {json.dumps(default)} is not one of its symbols")
    return list(found), default


def _aliases(value: JsonObject, namespace: str, path: str) -> list[str]:
    aliases = value.get("aliases", [])
    if not isinstance(aliases, list):
        raise _error(path, "'aliases' is a list of names")
    found = []
    for each in aliases:
        if not isinstance(each, str):
            raise _error(path, f"'aliases' is a list of names, got {json.dumps(each)}")
        found.append(each if "." in each or not namespace else f"{namespace}.{each}")
    return found


def _needed(value: JsonObject, key: str, path: str) -> Json:
    if key not in value:
        raise _error(path, f"'{key}' is missing")
    return value[key]


def _others(value: JsonObject, known: set[str]) -> JsonObject:
    return {key: each for key, each in value.items() if key not in known}


def _error(path: str, problem: str) -> InvalidSchemaError:
    return InvalidSchemaError(f"{path}: {problem}" if path else problem)

"""JSON that a user types, to the values that fastavro writes; a problem names the field.

It takes what the console shows: bytes as hex, decimals, times and UUIDs as text. A value of a union
is the value alone or, as in Avro's own JSON, an object with the name of its type.
"""

import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from barnabas.errors import ValidationFailed

_BITS = {"int": 31, "long": 63}
_RECORDS = ("record", "error")
_NAMED = (*_RECORDS, "enum", "fixed")


class AvroValues:
    """Conversion by one schema, whose types are known by their full names."""

    def __init__(self, parsed: Any, named: Mapping[str, Any]) -> None:
        self._parsed = parsed
        self._named = named
        self._tried: dict[tuple[int, int], Any] = {}  # by union and value, which both stay alive

    def convert(self, value: Any) -> Any:
        """Raises `ValidationFailed`."""
        self._tried.clear()
        return self._of(self._parsed, value)

    def _of(self, schema: Any, value: Any) -> Any:
        if isinstance(schema, list):
            return self._union(schema, value)
        if isinstance(schema, str):
            known = self._named.get(schema)
            return _scalar(schema, {}, value) if known is None else self._of(known, value)
        kind = schema["type"]
        if not isinstance(kind, str) or kind in self._named:
            return self._of(kind, value)
        match kind:
            case "record" | "error":
                return self._record(schema, value)
            case "array":
                return self._array(schema, value)
            case "map":
                return self._map(schema, value)
            case "enum":
                if value not in schema["symbols"]:
                    raise _expected(f"one of {', '.join(schema['symbols'][:50])}", value)
                return value
        return _scalar(kind, schema, value)

    def _record(self, schema: Any, value: Any) -> dict[str, object]:
        if not isinstance(value, dict):
            raise _expected(f"an object ({schema['name']})", value)
        fields = {each["name"]: each for each in schema["fields"]}
        for name in value:
            if name not in fields:
                raise ValidationFailed(str(name), f"{schema['name']} has no such field")
        found = {}
        for name, each in fields.items():
            if name in value:
                found[name] = self._within(name, each["type"], value[name])
            elif "default" not in each:
                raise ValidationFailed(name, "is missing, and has no default")
            elif isinstance(each["default"], str) and self._is_binary(each["type"]):
                found[name] = each["default"].encode("latin-1")  # as schemas write bytes
        return found

    def _is_binary(self, schema: Any) -> bool:
        if isinstance(schema, str):
            return schema == "bytes" or (
                schema in self._named and self._is_binary(self._named[schema])
            )
        return isinstance(schema, dict) and schema["type"] in ("bytes", "fixed")

    def _array(self, schema: Any, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _expected("a list", value)
        return [self._within(f"[{n}]", schema["items"], each) for n, each in enumerate(value)]

    def _map(self, schema: Any, value: Any) -> dict[str, object]:
        if not isinstance(value, dict):
            raise _expected("an object", value)
        return {name: self._within(name, schema["values"], each) for name, each in value.items()}

    def _within(self, place: str, schema: Any, value: Any) -> Any:
        try:
            return self._of(schema, value)
        except ValidationFailed as error:
            raise error.within(place) from None

    def _union(self, branches: list[Any], value: Any) -> Any:
        """Tried once: branches that refer to each other would double the tries at each depth."""
        place = (id(branches), id(value))
        if place not in self._tried:
            try:
                self._tried[place] = self._branch(branches, value)
            except ValidationFailed as error:
                self._tried[place] = error
        found = self._tried[place]
        if isinstance(found, ValidationFailed):
            raise ValidationFailed(found.field, found.problem)
        return found

    def _branch(self, branches: list[Any], value: Any) -> Any:
        """The value with the name of its branch: fastavro would choose one by itself."""
        names = [_name(each) for each in branches]
        if value is None:
            if "null" in names:
                return None
            raise _expected(f"one of {', '.join(names)}", value)
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in names:
            (name, inner), *_ = value.items()
            return name, self._within(name, branches[names.index(name)], inner)
        problems = []
        for name, branch in zip(names, branches, strict=True):
            if name == "null":
                continue
            try:
                return name, self._of(branch, value)
            except ValidationFailed as error:
                problems.append(error)
        if len(problems) == 1:
            raise problems[0]
        raise _expected(f"one of {', '.join(names)}", value)


def _name(branch: Any) -> str:
    """As fastavro names the branches of a union."""
    if isinstance(branch, str):
        return branch
    return str(branch["name"] if branch["type"] in _NAMED else branch["type"])


def _scalar(kind: str, schema: Mapping[str, Any], value: Any) -> Any:
    logical = _LOGICAL.get(f"{kind} {schema.get('logicalType')}")
    if logical is not None:
        what, parse = logical
        try:
            return parse(schema, value)
        except ValidationFailed:
            raise
        except (TypeError, ValueError, InvalidOperation):
            raise _expected(what, value) from None
    match kind:
        case "null" if value is None:
            return None
        case "boolean" if isinstance(value, bool):
            return value
        case "int" | "long" if _is_whole(value):
            if -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
                return value
            raise ValidationFailed("", f"is too large: {kind} has {_BITS[kind] + 1} bits")
        case "float" | "double" if _is_number(value):
            return _real(kind, value)
        case "string" if isinstance(value, str):
            return value
        case "bytes" | "fixed" if isinstance(value, str):
            return _binary(kind, schema, value)
    raise _expected("bytes as hex" if kind in ("bytes", "fixed") else kind, value)


def _real(kind: str, value: float) -> float:
    try:
        struct.pack("<f" if kind == "float" else "<d", value)
    except (OverflowError, struct.error):
        raise ValidationFailed("", f"is too large for a {kind}") from None
    return float(value)


def _binary(kind: str, schema: Mapping[str, Any], value: str) -> bytes:
    try:
        found = bytes.fromhex(value)
    except ValueError:
        raise _expected("bytes as hex", value) from None
    if kind == "fixed" and len(found) != schema["size"]:
        raise ValidationFailed("", f"expected {schema['size']} bytes as hex, got {len(found)}")
    return found


def _decimal(schema: Mapping[str, Any], value: Any) -> Decimal:
    if not isinstance(value, str) and not _is_number(value):
        raise TypeError
    found = Decimal(str(value))
    _, digits, exponent = found.as_tuple()
    scale = schema.get("scale", 0)
    if not isinstance(exponent, int):  # NaN and infinity
        raise ValueError(value)
    if -exponent > scale:
        raise ValidationFailed("", f"has more than {scale} decimal places")
    if len(digits) + exponent + scale > schema["precision"]:
        raise ValidationFailed("", f"has more than {schema['precision']} digits")
    return found


def _moment(_: Mapping[str, Any], value: Any) -> Any:
    if _is_whole(value):
        return value
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(value)
    return found


def _local(_: Mapping[str, Any], value: Any) -> Any:
    return value if _is_whole(value) else datetime.fromisoformat(value).replace(tzinfo=None)


def _date(_: Mapping[str, Any], value: Any) -> Any:
    return value if _is_whole(value) else date.fromisoformat(value)


def _time(_: Mapping[str, Any], value: Any) -> Any:
    return value if _is_whole(value) else time.fromisoformat(value)


def _uuid(_: Mapping[str, Any], value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str(UUID(value))


_Logical = tuple[str, Callable[[Mapping[str, Any], Any], Any]]
_MOMENT: _Logical = ("a time with its zone, such as 2026-01-31T12:00:00Z", _moment)
_LOCAL: _Logical = ("a time, such as 2026-01-31T12:00:00", _local)
_TIME: _Logical = ("a time of day, such as 12:00:00", _time)
_DECIMAL: _Logical = ("a decimal number", _decimal)
_LOGICAL: dict[str, _Logical] = {
    "bytes decimal": _DECIMAL,
    "fixed decimal": _DECIMAL,
    "string uuid": ("a UUID", _uuid),
    "int date": ("a date, such as 2026-01-31", _date),
    "int time-millis": _TIME,
    "long time-micros": _TIME,
    "long timestamp-millis": _MOMENT,
    "long timestamp-micros": _MOMENT,
    "long local-timestamp-millis": _LOCAL,
    "long local-timestamp-micros": _LOCAL,
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _expected(what: str, value: Any) -> ValidationFailed:
    """Without the value: it may be one that no log is to have."""
    return ValidationFailed("", f"expected {what}, got {_kind_of(value)}")


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"

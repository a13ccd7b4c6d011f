"""Defaults of fields, as a schema of Avro has them."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Protocol
from uuid import UUID

from barnabas.schemas.models.fields import fields_of, is_model
from barnabas.schemas.schema import Json
from barnabas.schemas.unscaled import DecimalTooLargeError, unscaled

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class NotInSchemaError(ValueError):
    """A value that is not one of the type."""


class NamedTypes(Protocol):
    """The named types of a schema."""

    def __getitem__(self, name: str, /) -> Any: ...

    def __contains__(self, name: object, /) -> bool: ...


def default_json(of: Any, value: Any, named: NamedTypes) -> Json:
    """A value as the default of an Avro type, which is JSON. Raises `NotInSchemaError`."""
    if isinstance(of, list):  # inside of a default, it is a value of the first branch
        return default_json(of[0], value, named)
    if isinstance(of, str) and of in named:
        of = named[of]
    kind = of["type"] if isinstance(of, dict) else of
    match kind:
        case "record" if is_model(type(value)) or isinstance(value, Mapping):
            return _record(of, value, named)
        case "array" if isinstance(value, list | tuple | set | frozenset):
            return [default_json(of["items"], each, named) for each in value]
        case "map" if isinstance(value, Mapping):
            return {
                str(name): default_json(of["values"], each, named) for name, each in value.items()
            }
        case "enum" if _plain(value) in of["symbols"]:
            return str(_plain(value))
    logical = of.get("logicalType") if isinstance(of, dict) else None
    found = _scalar(kind, value) if logical is None else _logical(logical, of, value)
    if found is NotImplemented:
        raise NotInSchemaError
    return found  # type: ignore[no-any-return]


def _record(of: Any, value: Any, named: NamedTypes) -> Json:
    if isinstance(value, Mapping):
        found = value
    else:
        found = {each.name: getattr(value, each.attribute) for each in fields_of(type(value))}
    try:
        return {
            each["name"]: default_json(each["type"], found[each["name"]], named)
            for each in of["fields"]
        }
    except KeyError:
        raise NotInSchemaError from None


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _scalar(kind: str, value: Any) -> Any:
    value = _plain(value)
    match kind:
        case "null" if value is None:
            return None
        case "boolean" if isinstance(value, bool):
            return value
        case "long" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "double" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else NotImplemented
        case "string" if isinstance(value, str):
            return value
        case "bytes" if isinstance(value, bytes):
            return value.decode("latin-1")
    return NotImplemented


def _logical(logical: str, of: Any, value: Any) -> Any:
    match logical, value:
        case "uuid", UUID():
            return str(value)
        case "decimal", Decimal():
            return _decimal(value, of["precision"], of["scale"])
        case "timestamp-micros", datetime(tzinfo=zone) if zone is not None:
            return (value - _EPOCH) // _MICROSECOND
        case "date", date() if not isinstance(value, datetime):
            return (value - _EPOCH.date()).days
        case "time-micros", time(tzinfo=None):
            since = datetime.combine(_EPOCH.date(), value) - datetime.combine(_EPOCH.date(), time())
            return since // _MICROSECOND
    return NotImplemented


def _decimal(value: Decimal, precision: int, scale: int) -> Any:
    try:
        number = unscaled(value, precision, scale) if value.is_finite() else None
    except DecimalTooLargeError:
        number = None
    if number is None:
        return NotImplemented
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).decode("latin-1")

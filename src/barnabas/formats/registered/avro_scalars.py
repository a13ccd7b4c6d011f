"""Values of the types of Avro that contain no others, also of logical types."""

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.avro_expected import Check, expected
from barnabas.formats.registered.avro_times import TIMES
from barnabas.schemas.unscaled import DecimalTooLargeError, unscaled


def scalar_check(kind: str, schema: Mapping[str, Any]) -> Check:
    """`schema` has the properties of the type."""
    logical = _LOGICAL.get((kind, str(schema.get("logicalType"))))
    if logical is not None:
        return logical(schema)
    if kind == "fixed":
        return _fixed(schema["size"])
    return _CHECKS[kind]


def _null(value: Any) -> None:
    if value is not None:
        raise expected("null", value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise expected("a boolean", value)
    return value


def _whole(name: str, bits: int) -> Check:
    low, high = -(1 << bits - 1), 1 << bits - 1

    def check(value: Any) -> int:
        if type(value) is not int:
            if isinstance(value, Enum):
                value = value.value
            if not isinstance(value, int) or isinstance(value, bool):
                raise expected(name, value)
        if not low <= value < high:
            raise ValidationFailed("", f"{value} is too large for {name} ({bits} bits)")
        return int(value)

    return check


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise expected("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise ValidationFailed("", f"{value} is too large for a double") from None


def _float(value: Any) -> float:
    found = _double(value)
    try:
        struct.pack("<f", found)
    except OverflowError:
        raise ValidationFailed("", f"{value} is too large for a float") from None
    return found


def _string(value: Any) -> str:
    if type(value) is str:
        return value
    given = value.value if isinstance(value, Enum) else value
    if not isinstance(given, str):
        raise expected("a str", value)
    return given


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise expected("bytes", value)
    return bytes(value)


def _fixed(size: int) -> Check:
    def check(value: Any) -> bytes:
        found = _bytes(value)
        if len(found) != size:
            raise ValidationFailed("", f"expected {size} bytes, got {len(found)}")
        return found

    return check


def _decimal(schema: Mapping[str, Any]) -> Check:
    precision, scale = schema["precision"], schema.get("scale", 0)

    def check(given: Any) -> Decimal:
        is_whole = isinstance(given, int) and not isinstance(given, bool)
        value = Decimal(given) if is_whole else given
        if not isinstance(value, Decimal) or not value.is_finite():
            raise expected("a Decimal", given)
        try:
            whole = unscaled(value, precision, scale)
        except DecimalTooLargeError as error:
            raise ValidationFailed("", str(error)) from None
        if whole is None:
            raise ValidationFailed("", f"{value} has more than {scale} decimal places")
        return Decimal((whole < 0, Decimal(whole).as_tuple().digits, -scale))

    return check


def _uuid(_: Mapping[str, Any]) -> Check:
    def check(value: Any) -> str:
        try:
            if isinstance(value, str | UUID):
                return str(UUID(str(value)))
        except ValueError:
            pass
        raise expected("a UUID", value)

    return check


_CHECKS: dict[str, Check] = {
    "null": _null,
    "boolean": _boolean,
    "int": _whole("int", 32),
    "long": _whole("long", 64),
    "float": _float,
    "double": _double,
    "string": _string,
    "bytes": _bytes,
}
_LOGICAL: dict[tuple[str, str], Callable[[Mapping[str, Any]], Check]] = {
    ("bytes", "decimal"): _decimal,
    ("fixed", "decimal"): _decimal,
    ("string", "uuid"): _uuid,
    **TIMES,
}

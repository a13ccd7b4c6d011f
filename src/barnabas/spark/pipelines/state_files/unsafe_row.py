"""Rows as Spark's `UnsafeRow` has them.

A row is a set of bits for NULLs, in words of eight bytes, and a word for each field. The word has a
small value itself; of a large one it has offset and length, which lies behind. An array begins with
its length and is otherwise alike, with elements as large as their type; a map is two arrays.
"""

import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_WORD = 8
_LONG_DIGITS = 18
_FIXED = {
    "boolean": struct.Struct("<?"),
    "byte": struct.Struct("<b"),
    "short": struct.Struct("<h"),
    "integer": struct.Struct("<i"),
    "long": struct.Struct("<q"),
    "float": struct.Struct("<f"),
    "double": struct.Struct("<d"),
    "date": struct.Struct("<i"),
    "timestamp": struct.Struct("<q"),
    "timestamp_ntz": struct.Struct("<q"),
}
_I64 = struct.Struct("<q")
_PLACE = struct.Struct("<II")
_DAY_0 = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

DataType = str | Mapping[str, Any]
"""A type as Spark writes it in JSON."""


def read_row(data: bytes, fields: list[Mapping[str, Any]]) -> list[Any]:
    """The values of a row's fields."""
    words = (len(fields) + 63) // 64 * _WORD
    return [
        None if _is_set(data, 0, at) else _value(data, words + at * _WORD, field["type"])
        for at, field in enumerate(fields)
    ]


def _is_set(data: bytes, start: int, at: int) -> bool:
    return bool(data[start + at // 8] & (1 << at % 8))


def _value(data: bytes, at: int, of: DataType) -> Any:
    """The value whose word, or whose element of an array, begins at a place."""
    if isinstance(of, str):
        if of in _FIXED:
            return _fixed(_FIXED[of].unpack_from(data, at)[0], of)
        if of == "void":
            return None
        if of.startswith("decimal"):
            return _decimal(data, at, of)
    return _large(_pointed_at(data, at), of)


def _pointed_at(data: bytes, at: int) -> bytes:
    size, offset = _PLACE.unpack_from(data, at)
    return data[offset : offset + size]


def _fixed(raw: Any, of: str) -> Any:
    try:
        match of:
            case "date":
                return _DAY_0 + timedelta(days=raw)
            case "timestamp":
                return _EPOCH + timedelta(microseconds=raw)
            case "timestamp_ntz":
                return _EPOCH.replace(tzinfo=None) + timedelta(microseconds=raw)
            case _:
                return raw
    except OverflowError:
        raise UnreadableState(f"{raw} as {of}: Python has no such time") from None


def _decimal(data: bytes, at: int, of: str) -> Decimal:
    precision, scale = map(int, of.removeprefix("decimal(").rstrip(")").split(","))
    if precision <= _LONG_DIGITS:
        (unscaled,) = _I64.unpack_from(data, at)
    else:
        unscaled = int.from_bytes(_pointed_at(data, at), "big", signed=True)
    return Decimal((unscaled < 0, Decimal(unscaled).as_tuple().digits, -scale))  # not rounded


def _large(data: bytes, of: DataType) -> Any:
    if of == "binary":
        return data
    if isinstance(of, str):
        if of.startswith(("string", "varchar", "char")):
            return data.decode()
        raise UnreadableState(f"a value of type {of}")
    match of["type"]:
        case "struct":
            names = [each["name"] for each in of["fields"]]
            return dict(zip(names, read_row(data, of["fields"]), strict=True))
        case "array":
            return _array(data, of["elementType"])
        case "map":
            (size,) = _I64.unpack_from(data, 0)
            keys = _array(data[_WORD : _WORD + size], of["keyType"])
            return dict(zip(keys, _array(data[_WORD + size :], of["valueType"]), strict=True))
        case other:
            raise UnreadableState(f"a value of type {other}")


def _array(data: bytes, of: DataType) -> list[Any]:
    (count,) = _I64.unpack_from(data, 0)
    start = _WORD + (count + 63) // 64 * _WORD
    size = _FIXED[of].size if isinstance(of, str) and of in _FIXED else _WORD
    return [
        None if _is_set(data, _WORD, at) else _value(data, start + at * size, of)
        for at in range(count)
    ]

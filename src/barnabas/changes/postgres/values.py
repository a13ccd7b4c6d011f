"""Values of columns: from PostgreSQL's text to JSON.

A converter takes the text of a value and gives its JSON, so that a number never becomes a Python
object on its way: `numeric` keeps all its digits. The representations are Debezium's, chosen by the
settings of the same names, and one of ours, `plain`, which Spark's `from_json` reads with the
obvious type of a column: numbers as numbers, dates and times in ISO 8601, bytes in base64.

Types that are not known are strings. So are ranges, composites, addresses and JSON documents.
JSON has no NaN and no infinities: they are the strings `NaN`, `Infinity`, `-Infinity`.
"""

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barnabas.changes import calendar_text as calendar
from barnabas.changes.json_values import (
    BINARY,
    BinaryMode,
    Converter,
    DecimalMode,
    TimeMode,
    decimal_json,
    double_json,
    quoted,
)
from barnabas.changes.postgres.nested_text import Nested, array_elements, hstore_pairs
from barnabas.changes.postgres.type_catalog import PostgresType

IntervalMode = Literal["numeric", "string"]
HstoreMode = Literal["json", "map"]

_MICROSECOND_DIGITS = 6
_MILLISECOND_DIGITS = 3
_MODIFIER_HEADER = 4
_MONEY_SCALE = 2


@dataclass(frozen=True)
class Representation:
    """How values are written."""

    decimal: DecimalMode = "precise"
    time: TimeMode = "adaptive"
    binary: BinaryMode = "bytes"
    interval: IntervalMode = "numeric"
    hstore: HstoreMode = "json"


PLAIN = Representation("plain", "plain", "bytes", "string", "json")
"""As Spark reads it."""


def converter(of: PostgresType, modifier: int, shown: Representation) -> Converter:
    """What makes JSON from the texts of a type; it raises `ValueError` for one that is no value."""
    if of.kind == "domain" and of.of is not None:
        return converter(of.of, modifier if of.modifier < 0 else of.modifier, shown)
    if of.kind == "array" and of.of is not None:
        return _array(converter(of.of, modifier, shown))
    if of.kind != "base":
        return quoted
    if of.name in ("numeric", "money"):
        return _decimal(of.name, modifier, shown.decimal)
    if of.name in _TEMPORAL:
        return _TEMPORAL[of.name](_digits(modifier), shown.time)
    if of.name in ("bit", "varbit"):
        return _bits(of.name, modifier, shown)
    if of.name == "bytea":
        return _bytes(shown.binary)
    if of.name == "interval":
        return _interval(shown.interval)
    if of.name == "hstore":
        return _hstore_json if shown.hstore == "json" else _hstore_map
    return _SIMPLE.get(of.name, quoted)


# -- numbers and bytes --------------------------------------------------------------------------


def _integer(text: str) -> str:
    return str(int(text))


def _boolean(text: str) -> str:
    if text not in ("t", "f"):
        raise ValueError(f"{text!r} is not a boolean")
    return "true" if text == "t" else "false"


def _float(text: str) -> str:
    if text in ("NaN", "Infinity", "-Infinity"):
        return f'"{text}"'
    float(text)
    return text


def _point(text: str) -> str:
    x, y = (float(each) for each in text.strip("()").split(","))
    shape = base64.b64encode(struct.pack("<BIdd", 1, 1, x, y)).decode()
    return f'{{"x":{double_json(x)},"y":{double_json(y)},"wkb":"{shape}","srid":null}}'


_SIMPLE: dict[str, Converter] = {
    "bool": _boolean,
    "float4": _float,
    "float8": _float,
    "int2": _integer,
    "int4": _integer,
    "int8": _integer,
    "oid": _integer,
    "point": _point,
}


def _hex_bytes(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError(f"{text[:20]!r} is not bytes in hexadecimal digits")
    return bytes.fromhex(text[2:])


def _bytes(mode: BinaryMode) -> Converter:
    shown = BINARY[mode]
    return lambda text: shown(_hex_bytes(text))


def _bits(name: str, modifier: int, shown: Representation) -> Converter:
    if shown.decimal == "plain":
        return quoted
    if name == "bit" and modifier == 1:
        return lambda text: "true" if int(text, 2) else "false"

    def little_endian(text: str) -> str:
        size = (len(text) + 7) // 8
        found = int(text, 2).to_bytes(size, "little") if text else b""
        return f'"{base64.b64encode(found).decode()}"'

    return little_endian


def _decimal(name: str, modifier: int, mode: DecimalMode) -> Converter:
    scale = _scale(modifier) if name == "numeric" else _MONEY_SCALE

    def convert(text: str) -> str:
        if name == "money":
            text = "".join(each for each in text if each.isdigit() or each in "-.")
        return decimal_json(text, scale, mode)

    return convert


def _scale(modifier: int) -> int | None:
    """The digits after the point of a `numeric(p, s)`; None if it has no bounds.

    They are the lowest eleven bits of the modifier, and may be negative.
    """
    if modifier < _MODIFIER_HEADER:
        return None
    scale = (modifier - _MODIFIER_HEADER) & 0x7FF
    return scale - 0x800 if scale >= 0x400 else scale


# -- dates and times ----------------------------------------------------------------------------


def _digits(modifier: int) -> int:
    return modifier if 0 <= modifier <= _MICROSECOND_DIGITS else _MICROSECOND_DIGITS


def _endless(text: str) -> int | None:
    if text == "infinity":
        return calendar.POSITIVE_INFINITY
    return calendar.NEGATIVE_INFINITY if text == "-infinity" else None


def _date(_: int, mode: TimeMode) -> Converter:
    def convert(text: str) -> str:
        endless = _endless(text)
        if mode in ("isostring", "plain"):
            zone = "Z" if mode == "isostring" else ""
            return (
                f'"{text}"'
                if endless is not None
                else f'"{calendar.iso_date(calendar.days_of(text))}{zone}"'
            )
        return str(calendar.days_of(text) if endless is None else endless)

    return convert


def _timestamp(digits: int, mode: TimeMode) -> Converter:
    in_millis = mode == "connect" or (
        mode in ("adaptive", "adaptive_time_microseconds") and digits <= _MILLISECOND_DIGITS
    )

    def convert(text: str) -> str:
        endless = _endless(text)
        if mode in ("isostring", "plain"):
            if endless is not None:
                return f'"{text}"'
            zone = "Z" if mode == "isostring" else ""
            return f'"{calendar.iso_timestamp(calendar.timestamp_us(text), digits)}{zone}"'
        if endless is not None:
            return str(endless)
        micros = calendar.timestamp_us(text)
        return str(micros // 1000 if in_millis else micros)

    return convert


def _zoned_timestamp(digits: int, _: TimeMode) -> Converter:
    def convert(text: str) -> str:
        if text.endswith("+00") and text[4:5] == "-":  # of a year with four digits, in UTC
            clock, _, fraction = text[11:-3].partition(".")
            decimals = f".{fraction.ljust(digits, '0')}" if digits else ""
            return f'"{text[:10]}T{clock}{decimals}Z"'
        if _endless(text) is not None:
            return f'"{text}"'
        return f'"{calendar.iso_timestamp(calendar.timestamp_us(text), digits)}Z"'

    return convert


def _time(digits: int, mode: TimeMode) -> Converter:
    in_millis = mode == "connect" or (mode == "adaptive" and digits <= _MILLISECOND_DIGITS)

    def convert(text: str) -> str:
        micros = calendar.time_us(text)
        if mode in ("isostring", "plain"):
            zone = "Z" if mode == "isostring" else ""
            return f'"{calendar.iso_time(micros, digits)}{zone}"'
        return str(micros // 1000 if in_millis else micros)

    return convert


def _zoned_time(digits: int, _: TimeMode) -> Converter:
    return lambda text: f'"{calendar.iso_time(calendar.time_us(text), digits)}Z"'


_TEMPORAL: dict[str, Callable[[int, TimeMode], Converter]] = {
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _zoned_timestamp,
    "time": _time,
    "timetz": _zoned_time,
}


def _interval(mode: IntervalMode) -> Converter:
    def convert(text: str) -> str:
        endless = _endless(text)
        if endless is not None:
            return str(endless) if mode == "numeric" else f'"{text}"'
        if mode == "numeric":
            return str(calendar.interval_us(text))
        return f'"{calendar.interval_text(text)}"'

    return convert


# -- values of several parts --------------------------------------------------------------------


def _array(element: Converter) -> Converter:
    def shown(elements: Nested) -> str:
        return f"[{','.join(map(one, elements))}]"

    def one(each: "str | Nested | None") -> str:
        if each is None:
            return "null"
        return element(each) if isinstance(each, str) else shown(each)

    return lambda text: shown(array_elements(text))


def _hstore_map(text: str) -> str:
    return json.dumps(hstore_pairs(text), ensure_ascii=False)


def _hstore_json(text: str) -> str:
    return quoted(_hstore_map(text))

"""Values of columns: from the server's texts to JSON.

The representations are Debezium's, chosen by the settings of the same names, and one of ours,
`plain`, which Spark's `from_json` reads with the obvious type of a column. Bytes are texts with a
character for each byte.

A date with a zero in it, as `0000-00-00`, is null, or the first of January 1970 if the column is
NOT NULL: as Debezium has it.
"""

import re
import struct
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barnabas.changes import calendar_text as calendar
from barnabas.changes.json_values import (
    BINARY,
    BinaryMode,
    Converter,
    DecimalMode,
    decimal_json,
    double_json,
    quoted,
)
from barnabas.changes.mysql.column_type import BYTES, GEOMETRIES, INTEGERS, ColumnType

TimeMode = Literal["adaptive_time_microseconds", "connect", "microseconds", "isostring", "plain"]
UnsignedMode = Literal["long", "precise"]

_MILLISECOND_DIGITS = 3
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


@dataclass(frozen=True)
class Representation:
    """How values are written."""

    decimal: DecimalMode = "precise"
    time: TimeMode = "adaptive_time_microseconds"
    binary: BinaryMode = "bytes"
    unsigned: UnsignedMode = "long"


PLAIN = Representation("plain", "plain", "bytes", "long")
"""As Spark reads it."""


def converter(of: ColumnType, shown: Representation) -> Converter:
    """What makes JSON from the texts of a type; it raises `ValueError` for one that is no value."""
    if of.name in INTEGERS:
        if of.name == "bigint" and of.is_unsigned and shown.unsigned == "precise":
            return lambda text: decimal_json(text, 0, "precise")
        return _integer
    if of.name == "decimal":
        return lambda text: decimal_json(text, of.scale, shown.decimal)
    if of.name in ("float", "double"):
        return lambda text: double_json(float(text))
    if of.name == "year":
        return _integer
    if of.name in _TEMPORAL:
        return _TEMPORAL[of.name](of, shown.time)
    if of.name == "bit":
        return _bit(of, shown)
    if of.name in BYTES:
        return _bytes(of, shown.binary)
    if of.name in GEOMETRIES:
        return _geometry
    return quoted


def _integer(text: str) -> str:
    return str(int(text))


def _bit(of: ColumnType, shown: Representation) -> Converter:
    if of.length == 1:
        return lambda text: "true" if ord(text) else "false"
    if shown.decimal == "plain":
        return lambda text: str(int.from_bytes(text.encode("latin-1"), "big"))
    size = (of.length + 7) // 8

    def little_endian(text: str) -> str:
        return BINARY[shown.binary](text.encode("latin-1").rjust(size, b"\0")[::-1])

    return little_endian


def _bytes(of: ColumnType, mode: BinaryMode) -> Converter:
    shown = BINARY[mode]
    # The log leaves out zeros at the end of a BINARY.
    size = of.length if of.name == "binary" else 0
    return lambda text: shown(text.encode("latin-1").ljust(size, b"\0"))


def _geometry(text: str) -> str:
    """The server's form is a number for the reference system, and the standard's form."""
    data = text.encode("latin-1")
    srid, shape = int.from_bytes(data[:4], "little"), data[4:]
    system = str(srid) if srid else "null"
    encoded = b64encode(shape).decode()
    if len(shape) == 21 and shape[:5] == b"\x01\x01\0\0\0":
        x, y = struct.unpack_from("<dd", shape, 5)
        return f'{{"x":{double_json(x)},"y":{double_json(y)},"wkb":"{encoded}","srid":{system}}}'
    return f'{{"wkb":"{encoded}","srid":{system}}}'


# -- dates and times ----------------------------------------------------------------------------


def _is_no_day(text: str) -> bool:
    """Whether year, month or day are zero."""
    return text.startswith("0000") or text[5:7] == "00" or text[8:10] == "00"


def _instead(of: ColumnType, mode: TimeMode, epoch: str) -> str:
    return "null" if of.is_nullable or mode == "plain" else epoch


def _date(of: ColumnType, mode: TimeMode) -> Converter:
    def convert(text: str) -> str:
        if _is_no_day(text):
            return _instead(of, mode, '"1970-01-01Z"' if mode == "isostring" else "0")
        if mode in ("isostring", "plain"):
            return f'"{text}{"Z" if mode == "isostring" else ""}"'
        return str(calendar.days_of(text))

    return convert


def _datetime(of: ColumnType, mode: TimeMode) -> Converter:
    in_millis = mode == "connect" or (
        mode == "adaptive_time_microseconds" and of.scale <= _MILLISECOND_DIGITS
    )

    def convert(text: str) -> str:
        if _is_no_day(text):
            if mode != "isostring":
                return _instead(of, mode, "0")
            text = "1970-01-01 00:00:00"
            if of.is_nullable:
                return "null"
        if mode in ("isostring", "plain"):
            zone = "Z" if mode == "isostring" else ""
            return f'"{calendar.iso_timestamp(calendar.timestamp_us(text), of.scale)}{zone}"'
        micros = calendar.timestamp_us(text)
        return str(micros // 1000 if in_millis else micros)

    return convert


def _timestamp(of: ColumnType, mode: TimeMode) -> Converter:
    def convert(text: str) -> str:
        if _is_no_day(text):
            return _instead(of, mode, '"1970-01-01T00:00:00Z"')
        return f'"{text[:10]}T{_trimmed(text[11:])}Z"'

    return convert


def _trimmed(clock: str) -> str:
    """Without zeros at the end of the fraction, three digits at a time, as Java writes times."""
    whole, _, fraction = clock.partition(".")
    fraction = fraction.ljust(6, "0") if fraction else ""
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{whole}.{fraction}" if fraction else whole


def _time(of: ColumnType, mode: TimeMode) -> Converter:
    def convert(text: str) -> str:
        if mode == "plain":
            return f'"{text}"'
        micros = time_us(text)
        if mode == "isostring":
            if not 0 <= micros < calendar.DAY_US:
                raise ValueError(
                    f"{text} is not a time of day, as time.precision.mode=isostring has it"
                )
            return f'"{calendar.iso_time(micros, of.scale)}Z"'
        return str(micros // 1000 if mode == "connect" else micros)

    return convert


def time_us(text: str) -> int:
    """Microseconds of a time, which may be negative and longer than a day."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time")
    seconds = (int(found[2]) * 60 + int(found[3])) * 60 + int(found[4])
    micros = seconds * 1_000_000 + int((found[5] or "").ljust(6, "0"))
    return -micros if found[1] else micros


_TEMPORAL: dict[str, Callable[[ColumnType, TimeMode], Converter]] = {
    "date": _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
}

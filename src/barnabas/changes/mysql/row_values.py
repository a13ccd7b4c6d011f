"""Values in the log, from bytes to the texts with which the server shows them.

A text is what `SELECT` gives in a session in UTC, so snapshots and changes have the same: `7`,
`2026-01-31 12:00:00.5`, `-838:59:59`. Bytes are texts too, a character for each byte.
"""

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Final, TypeAlias

from barnabas.changes.mysql.column_type import LogType

Decoder: TypeAlias = Callable[[bytes, int], tuple[str, int]]
"""From the bytes of rows and where a value starts, to its text and where the next one starts."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a decimal for so many digits, up to nine."""


def decoder(
    kind: LogType, meta: int, *, is_unsigned: bool, charset: str | None, labels: tuple[str, ...]
) -> Decoder:
    """What reads the values of a column; `meta` as the event that describes the table has it."""
    if kind in _INTEGERS:
        return _integer(_INTEGERS[kind], signed=not is_unsigned)
    if kind == LogType.FLOAT:
        return lambda data, at: (float_text(struct.unpack_from("<f", data, at)[0]), at + 4)
    if kind == LogType.DOUBLE:
        return lambda data, at: (repr(struct.unpack_from("<d", data, at)[0]), at + 8)
    if kind == LogType.NEWDECIMAL:
        return _decimal(meta & 0xFF, meta >> 8)
    if kind == LogType.YEAR:
        return lambda data, at: (str(data[at] + 1900 if data[at] else 0), at + 1)
    if kind == LogType.DATE:
        return _date
    if kind in (LogType.TIME2, LogType.DATETIME2, LogType.TIMESTAMP2):
        return {
            LogType.TIME2: _time2,
            LogType.DATETIME2: _datetime2,
            LogType.TIMESTAMP2: _timestamp2,
        }[kind](meta)
    if kind in _OLD_TIMES:
        return _OLD_TIMES[kind]
    if kind == LogType.BIT:
        size = (meta >> 8) + bool(meta & 0xFF)
        return lambda data, at: (data[at : at + size].decode("latin-1"), at + size)
    if kind == LogType.ENUM:
        return _enum(meta >> 8, labels)
    if kind == LogType.SET:
        return _set(meta >> 8, labels)
    if kind == LogType.STRING:
        return _string(1 if _string_length(meta) < 256 else 2, charset)
    if kind in (LogType.VARCHAR, LogType.VAR_STRING):
        return _string(1 if meta < 256 else 2, charset)
    return _string(meta, charset)  # BLOB, GEOMETRY: `meta` is the size of the length


def _string_length(meta: int) -> int:
    """The longest a CHAR can be, in bytes: its high bits hide in the type."""
    high = meta & 0xFF
    return (meta >> 8) | ((high & 0x30) ^ 0x30) << 4


# -- numbers ------------------------------------------------------------------------------------

_INTEGERS: Final = {
    LogType.TINY: 1,
    LogType.SHORT: 2,
    LogType.INT24: 3,
    LogType.LONG: 4,
    LogType.LONGLONG: 8,
}


def _integer(size: int, *, signed: bool) -> Decoder:
    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + size
        return str(int.from_bytes(data[at:end], "little", signed=signed)), end

    return decode


def float_text(number: float) -> str:
    """The shortest text that is this number as a float of four bytes."""
    for digits in range(6, 9):
        text = f"{number:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", number):
            return repr(float(text))
    return repr(float(f"{number:.9g}"))


def _decimal(precision: int, scale: int) -> Decoder:
    before, after = precision - scale, scale
    size = before // 9 * 4 + _DIGIT_BYTES[before % 9] + after // 9 * 4 + _DIGIT_BYTES[after % 9]
    return lambda data, at: (decimal_text(data, at, precision, scale), at + size)


def decimal_text(data: bytes, at: int, precision: int, scale: int) -> str:
    """A decimal: groups of nine digits in four bytes; the first bit is set unless negative."""
    before, after = precision - scale, scale
    groups = [before % 9, *[9] * (before // 9)]
    sizes = [*groups, *[9] * (after // 9), after % 9]
    size = sum(_DIGIT_BYTES[each] for each in sizes)
    number = int.from_bytes(data[at : at + size], "big") ^ 1 << (size * 8 - 1)
    is_negative = bool(number >> (size * 8 - 1))
    if is_negative:
        number = ~number & (1 << size * 8) - 1
    raw = number.to_bytes(size, "big")
    digits, place = "", 0
    for each in sizes:
        if each:
            width = _DIGIT_BYTES[each]
            digits += f"{int.from_bytes(raw[place : place + width], 'big'):0{each}}"
            place += width
    whole = digits[:before].lstrip("0") or "0"
    text = f"{whole}.{digits[before:]}" if scale else whole
    return f"-{text}" if is_negative and number else text


# -- dates and times ----------------------------------------------------------------------------


def _date(data: bytes, at: int) -> tuple[str, int]:
    packed = int.from_bytes(data[at : at + 3], "little")
    return f"{packed >> 9:04}-{packed >> 5 & 15:02}-{packed & 31:02}", at + 3


def _fraction(micros: int, digits: int) -> str:
    return f".{micros:06}"[: digits + 1] if digits else ""


def time_text(packed: int, micros: int, digits: int) -> str:
    """A time: ten bits of hours, six of minutes, six of seconds."""
    clock = f"{packed >> 12 & 0x3FF:02}:{packed >> 6 & 0x3F:02}:{packed & 0x3F:02}"
    return clock + _fraction(micros, digits)


def datetime_text(packed: int, micros: int, digits: int) -> str:
    """A date and time: 13 * year + month, five bits of days, then as a time."""
    date = packed >> 17
    year, month = divmod(date >> 5, 13)
    return f"{year:04}-{month:02}-{date & 31:02} {time_text(packed & 0x1FFFF, micros, digits)}"


def _time2(digits: int) -> Decoder:
    more = (digits + 1) // 2
    size = 3 + more

    def decode(data: bytes, at: int) -> tuple[str, int]:
        packed = int.from_bytes(data[at : at + size], "big") - (1 << size * 8 - 1)
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        micros = (packed & (1 << more * 8) - 1) * 100 ** (3 - more)
        return sign + time_text(packed >> more * 8, micros, digits), at + size

    return decode


def _datetime2(digits: int) -> Decoder:
    more = (digits + 1) // 2

    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + 5 + more
        packed = int.from_bytes(data[at : at + 5], "big") - (1 << 39)
        micros = int.from_bytes(data[at + 5 : end], "big") * 100 ** (3 - more)
        return datetime_text(packed, micros, digits), end

    return decode


def _timestamp2(digits: int) -> Decoder:
    more = (digits + 1) // 2

    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + 4 + more
        micros = int.from_bytes(data[at + 4 : end], "big") * 100 ** (3 - more)
        return _of_epoch(int.from_bytes(data[at : at + 4], "big"), micros, digits), end

    return decode


def _of_epoch(seconds: int, micros: int, digits: int) -> str:
    if not seconds and not micros:
        return f"0000-00-00 00:00:00{_fraction(0, digits)}"
    at = _EPOCH + timedelta(seconds=seconds)
    return f"{at:%Y-%m-%d %H:%M:%S}{_fraction(micros, digits)}"


def _old_time(data: bytes, at: int) -> tuple[str, int]:
    packed = int.from_bytes(data[at : at + 3], "little", signed=True)
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    return f"{sign}{packed // 10000:02}:{packed // 100 % 100:02}:{packed % 100:02}", at + 3


def _old_datetime(data: bytes, at: int) -> tuple[str, int]:
    shown = f"{int.from_bytes(data[at : at + 8], 'little'):014}"
    date = f"{shown[:4]}-{shown[4:6]}-{shown[6:8]}"
    return f"{date} {shown[8:10]}:{shown[10:12]}:{shown[12:]}", at + 8


def _old_timestamp(data: bytes, at: int) -> tuple[str, int]:
    return _of_epoch(int.from_bytes(data[at : at + 4], "little"), 0, 0), at + 4


_OLD_TIMES: Final[dict[LogType, Decoder]] = {
    LogType.TIME: _old_time,
    LogType.DATETIME: _old_datetime,
    LogType.TIMESTAMP: _old_timestamp,
}


# -- types of MariaDB alone ---------------------------------------------------------------------


def address_decoder(name: str) -> Decoder:
    """What reads the values of UUID, INET4 and INET6, which are bytes of a CHAR in the log."""
    size, shown = ADDRESSES[name]

    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + 1 + data[at]
        return shown(data[at + 1 : end].ljust(size, b"\0")), end

    return decode


def _uuid(data: bytes) -> str:
    """Those of versions 1 to 5 have their last parts first, so that they sort by time."""
    if data[6] & 0x80 and 0 < data[8] < 0x60:
        data = data[12:] + data[10:12] + data[8:10] + data[6:8] + data[:6]
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


ADDRESSES: Final[dict[str, tuple[int, Callable[[bytes], str]]]] = {
    "uuid": (16, _uuid),
    "inet4": (4, lambda data: inet_ntop(AF_INET, data)),
    "inet6": (16, lambda data: inet_ntop(AF_INET6, data)),
}


# -- texts and bytes ----------------------------------------------------------------------------


def _string(size: int, charset: str | None) -> Decoder:
    codec = "latin-1" if charset is None else codec_of(charset)

    def decode(data: bytes, at: int) -> tuple[str, int]:
        start = at + size
        end = start + int.from_bytes(data[at:start], "little")
        try:
            return data[start:end].decode(codec), end
        except UnicodeDecodeError:
            return _decoded_anyway(data[start:end], codec), end

    return decode


def _decoded_anyway(data: bytes, codec: str) -> str:
    """The latin1 of the server is cp1252, with control characters for bytes that have none."""
    if codec != "cp1252":
        return data.decode(codec, "replace")
    return "".join(bytes([each]).decode(codec, "ignore") or chr(each) for each in data)


_CODECS: Final = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "latin1": "cp1252",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "ascii": "ascii",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "tis620": "tis-620",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "sjis": "cp932",
    "ujis": "euc-jp",
    "eucjpms": "euc-jp",
    "euckr": "euc-kr",
    "macroman": "mac-roman",
    "macce": "mac-latin2",
}


def codec_of(charset: str) -> str:
    """Python's name of a character set; others have the same name as the server's."""
    return _CODECS.get(charset, charset)


def _enum(size: int, labels: tuple[str, ...]) -> Decoder:
    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + size
        number = int.from_bytes(data[at:end], "little")
        return labels[number - 1] if number else "", end

    return decode


def _set(size: int, labels: tuple[str, ...]) -> Decoder:
    def decode(data: bytes, at: int) -> tuple[str, int]:
        end = at + size
        bits = int.from_bytes(data[at:end], "little")
        return ",".join(label for n, label in enumerate(labels) if bits >> n & 1), end

    return decode

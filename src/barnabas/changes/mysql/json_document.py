"""Documents of MySQL's type JSON, as its log has them, in the text that the server shows.

A document is a byte for its type and the value. Objects and arrays have a count and a size, entries
for keys (offset, length) and values (type, offset, or the value itself if it is short), and then
the keys and values; offsets count from the start of the object. "Large" ones have numbers of four
bytes, others of two. MariaDB has no such type: its JSON is text.
"""

import base64
import json
import struct

from barnabas.changes.json_values import double_json
from barnabas.changes.mysql.row_values import Decoder, datetime_text, decimal_text, time_text

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_DOUBLE, _STRING, _OPAQUE = 11, 12, 15
_LITERALS = {0: "null", 1: "true", 2: "false"}
_OPAQUE_DECIMAL, _OPAQUE_DATE, _OPAQUE_TIME = 246, 10, 11
_OPAQUE_TIMES = (7, 12)
_MOST_DEEP = 100  # as the server has it


def json_text(data: bytes) -> str:
    """A document; a `ValueError` if it is none."""
    if not data:
        return "null"  # what the server shows for an empty document
    try:
        return _value(data[0], data, 1, 0)
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError(f"not a JSON document of MySQL: {error}") from None


def json_decoder(size: int) -> Decoder:
    """What reads the values of a column; the length of a value has `size` bytes."""

    def decode(data: bytes, at: int) -> tuple[str, int]:
        start = at + size
        end = start + int.from_bytes(data[at:start], "little")
        return json_text(data[start:end]), end

    return decode


def _value(kind: int, data: bytes, at: int, depth: int) -> str:
    if depth > _MOST_DEEP:
        raise ValueError("a JSON document that is nested too deep")
    if kind <= _LARGE_ARRAY:
        return _container(kind, data, at, depth)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _NUMBERS:
        return str(struct.unpack_from(_NUMBERS[kind], data, at)[0])
    if kind == _DOUBLE:
        return double_json(struct.unpack_from("<d", data, at)[0])
    if kind == _STRING:
        size, at = _length(data, at)
        return json.dumps(data[at : at + size].decode(), ensure_ascii=False)
    if kind == _OPAQUE:
        of = data[at]
        size, at = _length(data, at + 1)
        return _opaque(of, data[at : at + size])
    raise ValueError(f"unknown type {kind} in a JSON document")


def _container(kind: int, data: bytes, start: int, depth: int) -> str:
    is_large = kind in (_LARGE_OBJECT, _LARGE_ARRAY)
    width, number = (4, "<I") if is_large else (2, "<H")
    count = struct.unpack_from(number, data, start)[0]
    at = start + 2 * width
    if count * (1 + width) > len(data) - at:
        raise ValueError(f"{count} entries in a JSON document of {len(data)} bytes")
    keys = []
    if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
        for _ in range(count):
            offset = struct.unpack_from(number, data, at)[0]
            size = struct.unpack_from("<H", data, at + width)[0]
            keys.append(data[start + offset : start + offset + size].decode())
            at += width + 2
    values = []
    for _ in range(count):
        of = data[at]
        inlined = of == _LITERAL or of in (5, 6) or (is_large and of in (7, 8))
        place = at + 1 if inlined else start + struct.unpack_from(number, data, at + 1)[0]
        values.append(_value(of, data, place, depth + 1))
        at += 1 + width
    if kind in (_SMALL_ARRAY, _LARGE_ARRAY):
        return f"[{', '.join(values)}]"
    pairs = zip(keys, values, strict=True)
    return f"{{{', '.join(f'{json.dumps(k, ensure_ascii=False)}: {v}' for k, v in pairs)}}}"


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the last one without the high bit."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return size, at
        shift += 7


def _opaque(of: int, data: bytes) -> str:
    if of == _OPAQUE_DECIMAL:
        return decimal_text(data, 2, data[0], data[1])
    packed = struct.unpack_from("<q", data)[0] if len(data) == 8 else 0
    if of == _OPAQUE_TIME:
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        return f'"{sign}{time_text(packed >> 24, packed & 0xFFFFFF, 6)}"'
    if of == _OPAQUE_DATE:
        return f'"{datetime_text(packed >> 24, 0, 0)[:10]}"'
    if of in _OPAQUE_TIMES:
        return f'"{datetime_text(packed >> 24, packed & 0xFFFFFF, 6)}"'
    return f'"base64:type{of}:{base64.b64encode(data).decode()}"'

"""The default of a field in Avro's binary encoding, as if it had been written."""

import struct

from barnabas.schemas.avro.defaults import default_problem
from barnabas.schemas.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroType,
    AvroUnion,
    NoDefault,
)
from barnabas.schemas.schema import Json


def default_bytes(of: AvroType, value: Json | NoDefault) -> bytes:
    """Raises ValueError for a default that is not a value of its type."""
    problem = default_problem(of, value)
    if problem is not None:
        raise ValueError(f"its default {problem}")
    assert not isinstance(value, NoDefault)
    return _encoded(of, value)


def _encoded(of: AvroType, value: Json) -> bytes:
    if isinstance(of, AvroPrimitive):
        return _primitive(of.type, value)
    if isinstance(of, AvroUnion):
        for position, branch in enumerate(of.branches):
            if default_problem(branch, value) is None:
                return _long(position) + _encoded(branch, value)
        raise AssertionError("a default that fits has a branch")
    if isinstance(of, AvroEnum):
        return _long(of.symbols.index(str(value)))
    if isinstance(of, AvroFixed):
        return str(value).encode("latin-1")
    if isinstance(of, AvroArray):
        assert isinstance(value, list)
        items = b"".join(_encoded(of.items, each) for each in value)
        return _blocks(len(value), items)
    assert isinstance(value, dict)
    if isinstance(of, AvroMap):
        pairs = (_text(name) + _encoded(of.values, each) for name, each in value.items())
        return _blocks(len(value), b"".join(pairs))
    given = {each.name: each.default for each in of.fields if each.name not in value} | value
    return b"".join(default_bytes(each.type, given[each.name]) for each in of.fields)


def _primitive(kind: str, value: Json) -> bytes:
    match kind:
        case "null":
            return b""
        case "boolean":
            return b"\1" if value else b"\0"
        case "string":
            return _text(str(value))
        case "bytes":
            data = str(value).encode("latin-1")  # a character for each byte
            return _long(len(data)) + data
    assert isinstance(value, int | float)
    if kind in ("float", "double"):
        try:
            return struct.pack("<f" if kind == "float" else "<d", value)
        except OverflowError:
            raise ValueError(f"its default {value} is out of range of {kind}") from None
    return _long(int(value))


def _text(value: str) -> bytes:
    data = value.encode()
    return _long(len(data)) + data


def _blocks(count: int, items: bytes) -> bytes:
    return _long(count) + items + b"\0" if count else b"\0"


def _long(value: int) -> bytes:
    """Zigzag, seven bits in each byte, the lowest first."""
    rest = value << 1 if value >= 0 else (~value << 1) | 1
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)

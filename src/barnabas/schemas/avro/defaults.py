"""Whether the default of a field is a value of its type, by the rules of Avro's Java library."""

import json

from barnabas.schemas.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroType,
    AvroUnion,
    NoDefault,
    described,
)
from barnabas.schemas.schema import Json

_INT = 2**31
_LONG = 2**63


def default_problem(of: AvroType, value: Json | NoDefault) -> str | None:
    """What is wrong with a default, to follow the words "its default"; None if it fits."""
    assert not isinstance(value, NoDefault)
    if _fits(of, value):
        return None
    return f"{json.dumps(value, ensure_ascii=False)} is not a value of {described(of)}"


def _fits(of: AvroType, value: Json) -> bool:
    if isinstance(of, AvroPrimitive):
        return _primitive_fits(of.type, value)
    if isinstance(of, AvroUnion):
        return any(_fits(each, value) for each in of.branches)
    if isinstance(of, AvroArray):
        return isinstance(value, list) and all(_fits(of.items, each) for each in value)
    if isinstance(of, AvroMap):
        return isinstance(value, dict) and all(_fits(of.values, each) for each in value.values())
    if isinstance(of, AvroEnum):
        return isinstance(value, str) and value in of.symbols
    if isinstance(of, AvroFixed):
        return _is_bytes(value) and len(str(value)) == of.size
    if not isinstance(value, dict):
        return False
    for each in of.fields:
        if each.name in value:
            if not _fits(each.type, value[each.name]):
                return False
        elif isinstance(each.default, NoDefault):
            return False
    return True


def _primitive_fits(kind: str, value: Json) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str)
    if kind == "bytes":
        return _is_bytes(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if kind in {"float", "double"}:
        return True
    limit = _INT if kind == "int" else _LONG
    return isinstance(value, int) and -limit <= value < limit


def _is_bytes(value: Json) -> bool:
    """Bytes are written as a string with one character for each byte."""
    return isinstance(value, str) and all(ord(each) < 256 for each in value)

"""Whether the default of a field is a value of its type, by the rules of Avro's Java library."""

import json

from barnabas.schemas.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
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
    if _Fit().fits(of, value):
        return None
    return f"{json.dumps(value, ensure_ascii=False)} is not a value of {described(of)}"


class _Fit:
    """Asks once whether a value is one of a type: branches of unions may have the same inside."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}  # both stay alive meanwhile
        self._symbols: dict[int, frozenset[str]] = {}

    def fits(self, of: AvroType, value: Json) -> bool:
        if isinstance(of, AvroPrimitive):
            return _primitive_fits(of.type, value)
        if isinstance(of, AvroEnum):
            return isinstance(value, str) and value in self._symbols_of(of)
        if isinstance(of, AvroFixed):
            return _is_bytes(value) and len(str(value)) == of.size
        pair = (id(of), id(value))
        if pair not in self._known:
            self._known[pair] = self._has_parts_that_fit(of, value)
        return self._known[pair]

    def _has_parts_that_fit(
        self, of: AvroUnion | AvroArray | AvroMap | AvroRecord, value: Json
    ) -> bool:
        if isinstance(of, AvroUnion):
            return any(self.fits(each, value) for each in of.branches)
        if isinstance(of, AvroArray):
            return isinstance(value, list) and all(self.fits(of.items, each) for each in value)
        if not isinstance(value, dict):
            return False
        if isinstance(of, AvroMap):
            return all(self.fits(of.values, each) for each in value.values())
        for each in of.fields:
            if each.name in value:
                if not self.fits(each.type, value[each.name]):
                    return False
            elif isinstance(each.default, NoDefault):
                return False
        return True

    def _symbols_of(self, of: AvroEnum) -> frozenset[str]:
        found = self._symbols.get(id(of))
        if found is None:
            found = self._symbols[id(of)] = frozenset(of.symbols)
        return found


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

"""Which Arrow columns the values of an Avro schema have.

| Avro | Arrow |
|---|---|
| boolean, int, long, float, double | bool, int32, int64, float, double |
| string, uuid, enum | string |
| bytes, fixed | binary |
| decimal of up to 38 digits | decimal128 |
| date | date32 |
| timestamp-millis, -micros, -nanos | timestamp(us, UTC) |
| local-timestamp-millis, -micros, -nanos | timestamp(us) |
| time-millis, time-micros | int32, int64 |
| array, map, record | list, map, struct |
| a union with null | the other type, nullable |
| a union of int and long, of float and double | int64, double |
| another union | a struct with a field for each type, `member0`, `member1`, ...; one is not null |

Names of the parts of lists and maps are those that Spark gives them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from barnabas.schemas.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
)

Path: TypeAlias = tuple[str, ...]
Uses: TypeAlias = Callable[[Path], bool]

MAX_PRECISION = 38
_PRIMITIVE = {
    "null": pa.string(),  # a column has to have some type
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("us"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("us"),
}
_NUMBERS = {frozenset({"int", "long"}): pa.int64(), frozenset({"float", "double"}): pa.float64()}


class NoColumnError(ValueError):
    """A type of Avro that has no columns; the message names the field."""


@dataclass(frozen=True, eq=False, slots=True)
class AvroColumn:
    """A column, or a part of a nested one."""

    number: int
    """Its place when all are counted, parents first."""
    type: pa.DataType
    name: str
    path: Path
    is_built: bool
    """Otherwise values are only checked."""
    is_required: bool
    """Of a column of the value itself: null is no value of it."""
    children: tuple["AvroColumn", ...]


def avro_columns(
    reader: AvroType, uses: Uses = lambda _: True, *, is_lenient: bool = False
) -> AvroColumn:
    """The struct that a value is, whose children are the columns.

    `uses` says of the path of a column or field whether it is built. With `is_lenient`, fields of
    records inside of it may be null, whatever their types say. Raises `NoColumnError`.
    """
    if not isinstance(reader, AvroRecord):
        raise NoColumnError(f"the values are {reader.type}: only records have columns")
    return _Columns(uses, is_lenient).of(reader, reader.name, (), is_built=True)


class _Columns:
    def __init__(self, uses: Uses, is_lenient: bool) -> None:
        self._uses = uses
        self._is_lenient = is_lenient
        self._count = 0
        self._around: list[AvroRecord] = []

    def of(
        self, kind: AvroType, name: str, path: Path, *, is_built: bool, is_required: bool = False
    ) -> AvroColumn:
        number = self._count
        self._count += 1
        children: Sequence[AvroColumn] = ()
        made: pa.DataType
        if isinstance(kind, AvroArray):
            children = [self.of(kind.items, "element", path, is_built=is_built)]
            made = pa.list_(pa.field("element", children[0].type))
        elif isinstance(kind, AvroMap):
            key = self.of(AvroPrimitive("string"), "key", path, is_built=is_built)
            children = [key, self.of(kind.values, "value", path, is_built=is_built)]
            made = pa.map_(key.type, children[1].type)
        elif isinstance(kind, AvroRecord):
            children = self._fields(kind, path, is_built=is_built)
            made = pa.struct(
                [
                    pa.field(column.name, column.type, nullable=self._may_be_null(field, path))
                    for column, field in zip(children, kind.fields, strict=True)
                ]
            )
        elif isinstance(kind, AvroUnion):
            simple = _simple_union(kind)
            if simple is not None and not isinstance(simple, pa.DataType):
                self._count = number
                return self.of(simple, name, path, is_built=is_built, is_required=is_required)
            if simple is None:
                children = self._members(kind, path, is_built=is_built)
                made = pa.struct([pa.field(each.name, each.type) for each in children])
            else:
                made = simple
        else:
            made = _scalar(kind)
        return AvroColumn(number, made, name, path, is_built, is_required, tuple(children))

    def _may_be_null(self, field: AvroField, path: Path) -> bool:
        return is_nullable(field.type) or (self._is_lenient and bool(path))

    def _fields(self, record: AvroRecord, path: Path, *, is_built: bool) -> list[AvroColumn]:
        if any(each is record for each in self._around):
            raise NoColumnError(f"{'.'.join(path)}: {record.name} holds itself, and has no columns")
        self._around.append(record)
        found = [
            self._field(each, (*path, each.name), is_built, is_top=not path)
            for each in record.fields
        ]
        self._around.pop()
        return found

    def _field(self, field: AvroField, path: Path, is_built: bool, *, is_top: bool) -> AvroColumn:
        return self.of(
            field.type,
            field.name,
            path,
            is_built=is_built and self._uses(path),
            is_required=is_top and not is_nullable(field.type),
        )

    def _members(self, union: AvroUnion, path: Path, *, is_built: bool) -> list[AvroColumn]:
        found = []
        for position, each in enumerate(members(union)):
            inner = (*path, f"member{position}")
            used = is_built and self._uses(inner)
            found.append(self.of(each, inner[-1], inner, is_built=used))
        return found


def members(union: AvroUnion) -> list[AvroType]:
    """The types of a union without null."""
    return [each for each in union.branches if each.type != "null"]


def is_nullable(kind: AvroType) -> bool:
    if isinstance(kind, AvroUnion):
        return any(each.type == "null" for each in kind.branches)
    return kind.type == "null"


def has_members(union: AvroUnion) -> bool:
    """Whether its column is a struct with a field for each type."""
    return _simple_union(union) is None


def _simple_union(union: AvroUnion) -> AvroType | pa.DataType | None:
    found = members(union)
    if not found:
        return AvroPrimitive("null")
    if len(found) == 1:
        return found[0]
    plain = [each for each in found if isinstance(each, AvroPrimitive) and logical_of(each) is None]
    return _NUMBERS.get(frozenset(each.type for each in plain)) if plain == found else None


def logical_of(kind: AvroType) -> str | None:
    """The logical type that decides about its column; others are ignored, as Avro wants it."""
    if not isinstance(kind, AvroPrimitive | AvroFixed):
        return None
    name = kind.properties.get("logicalType")
    if name == "decimal":
        return name if digits_of(kind) is not None else None
    return str(name) if (kind.type, name) in _LOGICAL else None


def digits_of(kind: AvroPrimitive | AvroFixed) -> tuple[int, int] | None:
    """Precision and scale of a decimal, if a column can have them."""
    precision, scale = kind.properties.get("precision"), kind.properties.get("scale", 0)
    if kind.type not in ("bytes", "fixed") or not isinstance(precision, int):
        return None
    if not isinstance(scale, int) or not 0 <= scale <= precision or not precision:
        return None
    return (precision, scale) if precision <= MAX_PRECISION else None


def _scalar(kind: AvroType) -> pa.DataType:
    if isinstance(kind, AvroEnum):
        return pa.string()
    assert isinstance(kind, AvroPrimitive | AvroFixed)
    logical = logical_of(kind)
    if logical == "decimal":
        digits = digits_of(kind)
        assert digits is not None
        return pa.decimal128(*digits)
    if logical is not None:
        return _LOGICAL[kind.type, logical]
    return pa.binary() if isinstance(kind, AvroFixed) else _PRIMITIVE[kind.type]

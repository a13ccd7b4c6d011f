"""The compiled kernel for JSON, if there is one: whole columns at once, in C.

`src/json_kernel/` has the code. It decodes the usual values, and marks the others, for Python to
decide: whatever is wrong with them, and what is right but seldom. Where it was not compiled, or is
of another version than this file, `kernel` is None, and Python does all.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from barnabas.compiled import load_compiled
from barnabas.spark.decoding.decoding import Decoding, Path
from barnabas.spark.decoding.time_zones import ClockOffsets

INTERFACE = 1
"""Goes up, here and in module.c, whenever a function takes or gives something else."""

Spec: TypeAlias = tuple[int, int, int, int, bytes, tuple[Any, ...]]
Column: TypeAlias = tuple[int, int, Any, Any, Any]

# As in columns.h.
_KINDS: dict[type[DataType], int] = {
    BooleanType: 0,
    ByteType: 1,
    ShortType: 2,
    IntegerType: 3,
    LongType: 4,
    FloatType: 5,
    DoubleType: 6,
    StringType: 7,
    BinaryType: 8,
    DateType: 9,
    TimestampType: 10,
    TimestampNTZType: 11,
    DecimalType: 12,
    StructType: 13,
    ArrayType: 14,
    MapType: 15,
}
_BUILT, _REQUIRED = 1, 2


class Plan(Protocol):
    """A schema; for one thread at a time."""

    def decode(
        self,
        valid: Any,
        ends: Any,
        data: Any,
        first: int,
        rows: int,
        starts: Any,
        offsets: Any,
        known_until: int,
        /,
    ) -> tuple[bytes, list[Column]]:
        """Which values are unusual, and the columns of the others."""


class Kernel(Protocol):
    """The types of `barnabas.spark.decoding._json_kernel`; details are in module.c."""

    INTERFACE: int
    Memory: type

    def Plan(self, spec: Spec, memory: type, /) -> Plan:  # noqa: N802 - a type
        ...


class Usual(NamedTuple):
    """What the kernel has made of values."""

    columns: list[pa.Array]
    is_unusual: npt.NDArray[np.bool_]


class KernelDecoder:
    """Decodes usual values by a schema."""

    def __init__(self, kernel: Kernel, decoding: Decoding, clock: ClockOffsets) -> None:
        self._decoding = decoding
        self._clock = clock
        self._plan = kernel.Plan(_root(decoding), kernel.Memory)

    def decode(self, values: pa.BinaryArray) -> Usual:
        valid, ends, data = values.buffers()
        unusual, columns = self._plan.decode(
            valid if values.null_count else None,
            ends,
            data,
            values.offset,
            len(values),
            self._clock.starts,
            self._clock.offsets,
            self._clock.known_until,
        )
        parts = iter(columns)
        next(parts)  # the struct that a value is
        arrays = []
        for field in self._decoding.fields.fields:
            is_used = self._decoding.uses((field.name,))
            if is_used or not field.nullable:
                array = _array(field.dataType, (field.name,), self._decoding, parts)
                if is_used:
                    arrays.append(array)
        return Usual(arrays, np.frombuffer(unusual, np.bool_))


def _root(decoding: Decoding) -> Spec:
    children = tuple(
        _spec(
            each.dataType,
            (each.name,),
            decoding,
            # Whether a required column is there shows in the column.
            is_built=decoding.uses((each.name,)) or not each.nullable,
            flags=0 if each.nullable else _REQUIRED,
            name=each.name,
        )
        for each in decoding.fields.fields
    )
    return _KINDS[StructType], _BUILT, 0, 0, b"", children


def _spec(
    of_type: DataType,
    path: Path,
    decoding: Decoding,
    *,
    is_built: bool,
    flags: int = 0,
    name: str = "",
) -> Spec:
    precision = scale = 0
    children: tuple[Spec, ...] = ()
    match of_type:
        case DecimalType():
            precision, scale = of_type.precision, of_type.scale
        case ArrayType():
            children = (_spec(of_type.elementType, path, decoding, is_built=is_built),)
        case MapType():
            children = (
                _spec(of_type.keyType, path, decoding, is_built=is_built),
                _spec(of_type.valueType, path, decoding, is_built=is_built),
            )
        case StructType():
            children = tuple(
                _spec(
                    each.dataType,
                    (*path, each.name),
                    decoding,
                    is_built=is_built and decoding.uses((*path, each.name)),
                    name=each.name,
                )
                for each in of_type.fields
            )
    kind = _KINDS[type(of_type)]
    return kind, flags | (_BUILT if is_built else 0), precision, scale, name.encode(), children


def _array(of_type: DataType, path: Path, decoding: Decoding, parts: Iterator[Column]) -> pa.Array:
    """The next column, and those that are parts of it."""
    length, nulls, valid, ends, data = next(parts)
    arrow = to_arrow_type(of_type, timezone="UTC")
    children: Sequence[pa.Array] | None = None
    buffers = [valid]
    match of_type:
        case StructType():
            children = [
                _array(each.dataType, (*path, each.name), decoding, parts)
                if decoding.uses((*path, each.name))
                else pa.nulls(length, field.type)
                for each, field in zip(of_type.fields, arrow, strict=True)
            ]
        case ArrayType():
            buffers.append(ends)
            children = [_array(of_type.elementType, path, decoding, parts)]
        case MapType():
            buffers.append(ends)
            keys = _array(of_type.keyType, path, decoding, parts)
            items = _array(of_type.valueType, path, decoding, parts)
            entries = pa.struct([arrow.key_field, arrow.item_field])
            children = [
                pa.Array.from_buffers(entries, len(keys), [None], 0, children=[keys, items])
            ]
        case _:
            buffers += [data] if ends is None else [ends, data]
    kept = [None if each is None else pa.py_buffer(each) for each in buffers]
    return pa.Array.from_buffers(arrow, length, kept, nulls, children=children)


def _load() -> Kernel | None:
    return cast("Kernel | None", load_compiled("barnabas.spark.decoding._json_kernel", INTERFACE))


kernel = _load()

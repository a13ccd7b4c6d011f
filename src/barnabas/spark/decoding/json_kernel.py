"""The compiled kernel for JSON, if there is one: whole columns at once, in C.

`src/json_kernel/` has the code. It decodes the usual values, and marks the others, for Python to
decide: whatever is wrong with them, and what is right but seldom. Where it was not compiled, or is
of another version than this file, `kernel` is None, and Python does all.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from barnabas.compiled import load_compiled
from barnabas.formats.arrow.kernel_columns import Column, Spec, array_of, column_spec
from barnabas.spark.decoding.decoding import Decoding, Path
from barnabas.spark.decoding.time_zones import ClockOffsets

INTERFACE = 1
"""Goes up, here and in module.c, whenever a function takes or gives something else."""


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
            is_required=not each.nullable,
            name=each.name,
        )
        for each in decoding.fields.fields
    )
    return column_spec(pa.struct([]), children, is_built=True)


def _spec(
    of_type: DataType,
    path: Path,
    decoding: Decoding,
    *,
    is_built: bool,
    is_required: bool = False,
    name: str = "",
) -> Spec:
    children: tuple[Spec, ...] = ()
    match of_type:
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
    return column_spec(
        to_arrow_type(of_type, timezone="UTC"),
        children,
        is_built=is_built,
        is_required=is_required,
        name=name,
    )


def _array(of_type: DataType, path: Path, decoding: Decoding, parts: Iterator[Column]) -> pa.Array:
    """The next column, and those that are parts of it."""
    own = next(parts)
    arrow = to_arrow_type(of_type, timezone="UTC")
    children: Sequence[pa.Array] = ()
    match of_type:
        case StructType():
            children = [
                _array(each.dataType, (*path, each.name), decoding, parts)
                if decoding.uses((*path, each.name))
                else pa.nulls(own[0], field.type)
                for each, field in zip(of_type.fields, arrow, strict=True)
            ]
        case ArrayType():
            children = [_array(of_type.elementType, path, decoding, parts)]
        case MapType():
            children = [
                _array(of_type.keyType, path, decoding, parts),
                _array(of_type.valueType, path, decoding, parts),
            ]
    return array_of(arrow, own, children)


def _load() -> Kernel | None:
    return cast("Kernel | None", load_compiled("barnabas.spark.decoding._json_kernel", INTERFACE))


kernel = _load()

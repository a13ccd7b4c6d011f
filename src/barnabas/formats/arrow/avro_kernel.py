"""The compiled kernel for Avro, if there is one: whole columns at once, in C.

`src/avro_kernel/` has the code. It runs the programs of `avro_program`, and marks the values that
they refuse. Where it was not compiled, or is of another version than this file, `kernel` is None.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.compiled import load_compiled
from barnabas.formats.arrow.avro_columns import AvroColumn
from barnabas.formats.arrow.avro_program import AvroProgram
from barnabas.formats.arrow.kernel_columns import Column, Spec, array_of, column_spec

INTERFACE = 1
"""Goes up, here and in module.c, whenever a function takes or gives something else."""

StepSpec: TypeAlias = tuple[int, int, int, tuple[int, ...], bytes, tuple[bytes | None, ...]]


class Plan(Protocol):
    """Columns, and programs that fill them; for one thread at a time."""

    def add(self, steps: tuple[StepSpec, ...], /) -> None:
        """The next program."""

    def decode(
        self,
        valid: Any,
        ends: Any,
        data: Any,
        first: int,
        rows: int,
        programs: Any,
        header: int,
        /,
    ) -> tuple[bytes, list[Column]]:
        """Which values are refused, and the columns of the others."""


class Kernel(Protocol):
    """The types of `barnabas.formats.arrow._avro_kernel`; details are in module.c."""

    INTERFACE: int
    Memory: type

    def Plan(self, spec: Spec, memory: type, /) -> Plan:  # noqa: N802 - a type
        ...


class ReadValues(NamedTuple):
    """What the kernel has made of values."""

    columns: list[pa.Array]
    is_refused: npt.NDArray[np.bool_]


class AvroKernelDecoder:
    """Decodes into columns."""

    def __init__(self, kernel: Kernel, root: AvroColumn) -> None:
        self._root = root
        self._plan = kernel.Plan(_spec(root), kernel.Memory)

    def add(self, program: AvroProgram) -> None:
        self._plan.add(tuple((int(op), *rest) for op, *rest in program.steps))  # type: ignore[misc]

    def decode(
        self, values: pa.BinaryArray, programs: npt.NDArray[np.int32], header: int
    ) -> ReadValues:
        valid, ends, data = values.buffers()
        refused, columns = self._plan.decode(
            valid if values.null_count else None,
            ends,
            data,
            values.offset,
            len(values),
            np.ascontiguousarray(programs, np.int32),
            header,
        )
        parts = iter(columns)
        next(parts)  # the struct that a value is
        arrays = [_array(each, parts) for each in self._root.children if each.is_built]
        return ReadValues(arrays, np.frombuffer(refused, np.bool_))


def _spec(column: AvroColumn) -> Spec:
    return column_spec(
        column.type,
        tuple(_spec(each) for each in column.children),
        is_built=column.is_built,
        is_required=column.is_required,
    )


def _array(column: AvroColumn, parts: Iterator[Column]) -> pa.Array:
    """The next column, and those that are parts of it."""
    own = next(parts)
    children = [
        _array(each, parts) if each.is_built else pa.nulls(own[0], each.type)
        for each in column.children
    ]
    return array_of(column.type, own, children)


def _load() -> Kernel | None:
    return cast("Kernel | None", load_compiled("barnabas.formats.arrow._avro_kernel", INTERFACE))


kernel = _load()

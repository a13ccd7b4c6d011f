"""Avro values as columns: each is one datum in Avro's binary encoding, without a file's header.

Values of one batch may be written with different schemas: each has a program of its own, and all
fill the same columns. The kernel decodes them, and Python says what is wrong with those that it
refuses. Without the kernel Python decodes all.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.formats.arrow import avro_kernel
from barnabas.formats.arrow.avro_columns import AvroColumn, Uses, avro_columns
from barnabas.formats.arrow.avro_kernel import AvroKernelDecoder
from barnabas.formats.arrow.avro_program import AvroProgram, program_of
from barnabas.formats.arrow.avro_values import AvroRow, AvroValueReader, UnreadableAvroError
from barnabas.formats.arrow.decoded import NO_VALUE, Decoded
from barnabas.schemas.avro.types import AvroType

Programs: TypeAlias = npt.NDArray[np.int32]

NO_PROGRAM = -1


class _Schema(NamedTuple):
    program: AvroProgram
    rows: AvroValueReader


class AvroDecoder:
    """Decodes into the columns of one schema, the reader's. For one thread at a time."""

    def __init__(
        self, reader: AvroType, uses: Uses = lambda _: True, *, is_lenient: bool = False
    ) -> None:
        """Raises `NoColumnError`. `uses` says of a column or field whether it is built.

        With `is_lenient`, a field that was not written and has no default is null.
        """
        self._reader = reader
        self._is_lenient = is_lenient
        self.root = avro_columns(reader, uses, is_lenient=is_lenient)
        self._needs_value = any(each.is_required for each in self.root.children)
        self._schemas: list[_Schema] = []
        compiled = avro_kernel.kernel
        self._kernel = None if compiled is None else AvroKernelDecoder(compiled, self.root)

    @property
    def columns(self) -> list[AvroColumn]:
        """Those that are built."""
        return [each for each in self.root.children if each.is_built]

    def add(self, writer: AvroType) -> int:
        """Learn a schema that values are written with; returns its number."""
        program = program_of(writer, self._reader, self.root, is_lenient=self._is_lenient)
        self._schemas.append(_Schema(program, AvroValueReader(program, self.root)))
        if self._kernel is not None:
            self._kernel.add(program)
        return len(self._schemas) - 1

    def decode(self, values: pa.BinaryArray, schemas: Programs, header: int = 0) -> Decoded:
        """All values at once; null is a record without a value.

        `schemas` has the number of each value's schema, -1 for those to leave out: their reasons
        are empty. `header` is how many bytes there are before the data.
        """
        if self._kernel is None:
            return self._rows(values, schemas, np.arange(len(values)), header)
        usual = self._kernel.decode(values, schemas, header)
        refused = np.flatnonzero(usual.is_refused)
        if not len(refused):
            return Decoded(usual.columns, (), ())
        found = self._rows(values, schemas, refused, header)
        assert len(found.dead) == len(refused), "the kernel refuses what Python reads"
        return found._replace(columns=usual.columns)

    def _rows(
        self,
        values: pa.BinaryArray,
        schemas: Programs,
        positions: npt.NDArray[np.int64],
        header: int,
    ) -> Decoded:
        rows: list[AvroRow | None] = []
        dead, reasons = [], []
        for position in positions.tolist():
            try:
                rows.append(self._row(values[position].as_py(), int(schemas[position]), header))
            except UnreadableAvroError as error:
                dead.append(position)
                reasons.append(str(error))
        columns = [
            pa.array([pruned(row, each) for row in rows], each.type) for each in self.columns
        ]
        return Decoded(columns, dead, reasons)

    def _row(self, value: bytes | None, schema: int, header: int) -> AvroRow | None:
        if value is None:
            if self._needs_value:
                raise UnreadableAvroError(NO_VALUE)
            return None
        if schema < 0:
            raise UnreadableAvroError("")
        return self._schemas[schema].rows.read(value[header:])


def pruned(row: AvroRow | None, column: AvroColumn) -> Any:
    """A column of a row, without what is not built."""
    return None if row is None else _pruned(row.get(column.name), column)


def _pruned(value: Any, column: AvroColumn) -> Any:
    if value is None or not column.children:
        return value
    if pa.types.is_struct(column.type):
        return {
            each.name: _pruned(value.get(each.name), each)
            for each in column.children
            if each.is_built
        }
    if pa.types.is_map(column.type):
        return [(name, _pruned(each, column.children[1])) for name, each in value]
    return [_pruned(each, column.children[0]) for each in value]

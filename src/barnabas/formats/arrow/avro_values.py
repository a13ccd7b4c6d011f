"""Runs programs of `avro_program` in Python, a value at a time.

For values that the kernel refuses, to say why, and for all where it was not compiled. Both read the
same and refuse the same.
"""

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from barnabas.formats.arrow.avro_columns import AvroColumn
from barnabas.formats.arrow.avro_program import NO_COLUMN, AvroProgram, Op, Step

AvroRow: TypeAlias = Mapping[str, Any]

MAX_DEPTH = 100
"""Of values: a type that holds itself has no bound. As in program.h."""
FREE_ITEMS = 1_000
"""How many items of a value may have no bytes. As in program.h."""
_INT = 1 << 31
_LONG = 1 << 63
_VARINT_BITS = 63
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


class UnreadableAvroError(ValueError):
    """A value can't be read; the message says why, and names the field."""


class AvroValueReader:
    """Reads values with one program, as what `pyarrow.array` takes for the columns."""

    def __init__(self, program: AvroProgram, root: AvroColumn) -> None:
        self._steps = program.steps
        self._columns: dict[int, AvroColumn] = {}
        self._index(root)
        self._filled: dict[int, int] = {}
        self._reads: dict[Op, Callable[[Step], Any]] = {
            Op.NULL: lambda _: None,
            Op.BOOLEAN: self._boolean,
            Op.INT: self._number,
            Op.LONG: self._number,
            Op.FLOAT: self._float,
            Op.DOUBLE: self._double,
            Op.BYTES: self._bytes,
            Op.FIXED: self._fixed,
            Op.ENUM: self._enum,
            Op.ARRAY: self._array,
            Op.MAP: self._map,
            Op.UNION: self._union,
            Op.RECORD: self._record,
            Op.MEMBER: self._member,
            Op.DEFAULT: self._default,
            Op.FAIL: self._fail,
        }
        self._data = b""
        self._at = 0
        self._depth = 0
        self._free = 0

    def _index(self, column: AvroColumn) -> None:
        self._columns[column.number] = column
        for each in column.children:
            self._index(each)

    def read(self, data: bytes) -> AvroRow:
        """Raises `UnreadableAvroError`."""
        self._data, self._at, self._depth, self._free = data, 0, 0, 0
        found = self._run(0)
        left = len(data) - self._at
        if left:
            raise UnreadableAvroError(f"{left} bytes are left over")
        assert isinstance(found, dict)
        return found

    def _run(self, number: int) -> Any:
        if self._depth >= MAX_DEPTH:
            raise UnreadableAvroError(f"it is nested more than {MAX_DEPTH} deep")
        self._depth += 1
        step = self._steps[number]
        found = self._reads[step.op](step)
        self._depth -= 1
        return found

    # -- bytes ---------------------------------------------------------------------------------

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise UnreadableAvroError("it ends too early")
        found = self._data[self._at : self._at + size]
        self._at += size
        return found

    def _long(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self._take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > _VARINT_BITS:
                raise UnreadableAvroError("a number has more than 64 bits")
        if value >= 1 << 64:
            raise UnreadableAvroError("a number has more than 64 bits")
        return (value >> 1) ^ -(value & 1)

    # -- scalars -------------------------------------------------------------------------------

    def _boolean(self, _: Step) -> bool:
        (byte,) = self._take(1)
        if byte > 1:
            raise UnreadableAvroError(f"{byte} is no boolean")
        return bool(byte)

    def _number(self, step: Step) -> Any:
        value = self._long()
        if step.op is Op.INT and not -_INT <= value < _INT:
            raise UnreadableAvroError(f"{value} is no int")
        if step.argument > 0:
            value *= step.argument
        elif step.argument < 0:
            value //= -step.argument
        if not -_LONG <= value < _LONG:
            raise UnreadableAvroError("a time is out of range")
        if step.column != NO_COLUMN:
            kind = self._columns[step.column].type
            if pa.types.is_float32(kind):
                return np.float32(np.int64(value))
            if pa.types.is_float64(kind):
                return float(value)
        return value

    def _float(self, _: Step) -> Any:
        # A float32 of NumPy: NaN keeps its bits.
        return np.frombuffer(self._take(_FLOAT.size), "<f4")[0]

    def _double(self, _: Step) -> Any:
        return _DOUBLE.unpack(self._take(_DOUBLE.size))[0]

    def _bytes(self, step: Step) -> Any:
        return self._as_column(step, self._take(self._long()))

    def _fixed(self, step: Step) -> Any:
        return self._as_column(step, self._take(step.argument))

    def _as_column(self, step: Step, data: bytes) -> Any:
        if step.column == NO_COLUMN:
            return data
        kind = self._columns[step.column].type
        if pa.types.is_decimal(kind):
            number = int.from_bytes(data, "big", signed=True)
            digits = str(abs(number)) if abs(number) < 10**kind.precision else ""
            if not digits:
                raise UnreadableAvroError(
                    f"{step.data.decode()}: it has more than {kind.precision} digits"
                )
            return Decimal((int(number < 0), tuple(map(int, digits)), -kind.scale))
        if pa.types.is_string(kind):
            try:
                return data.decode()
            except UnicodeDecodeError:
                raise UnreadableAvroError(f"{step.data.decode()}: it is not UTF-8") from None
        return data

    def _enum(self, step: Step) -> str:
        number = self._long()
        if not 0 <= number < len(step.symbols):
            raise UnreadableAvroError(f"{_of(step)}{number} is no symbol of the enum")
        symbol = step.symbols[number]
        if symbol is None:
            raise UnreadableAvroError(f"{_of(step)}the enum has no symbol for what was written")
        return symbol.decode()

    # -- what has parts ------------------------------------------------------------------------

    def _items(self, item: Callable[[], Any]) -> list[Any]:
        """Blocks of items; a negative count is followed by the size of the block."""
        found = []
        while count := self._long():
            if count < 0:
                count = -count
                self._long()
            for _ in range(count):
                before = self._at
                found.append(item())
                if self._at == before:
                    self._free += 1
                    if self._free > FREE_ITEMS:
                        raise UnreadableAvroError(f"more than {FREE_ITEMS} items have no bytes")
        return found

    def _array(self, step: Step) -> list[Any]:
        return self._items(lambda: self._run(step.parts[0]))

    def _map(self, step: Step) -> list[tuple[Any, Any]]:
        return self._items(lambda: (self._key(step), self._run(step.parts[0])))

    def _key(self, step: Step) -> Any:
        data = self._take(self._long())
        if step.column == NO_COLUMN:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise UnreadableAvroError("the key of a map is not UTF-8") from None

    def _union(self, step: Step) -> Any:
        number = self._long()
        if not 0 <= number < len(step.parts):
            raise UnreadableAvroError(f"{number} is no branch of the union")
        return self._run(step.parts[number])

    def _record(self, step: Step) -> Any:
        if step.column == NO_COLUMN:
            for part in step.parts:
                self._run(part)
            return None
        found = {}
        for part in step.parts:
            value = self._run(part)
            number = self._filled.get(part)
            if number is None:
                number = self._filled[part] = self._column_of(part)
            if number != NO_COLUMN:
                found[self._columns[number].name] = value
        return found

    def _column_of(self, number: int) -> int:
        """The column that a step fills; those of a union fill the same one."""
        step = self._steps[number]
        if step.op in (Op.UNION, Op.DEFAULT):
            found = (self._column_of(part) for part in step.parts)
            return next((each for each in found if each != NO_COLUMN), NO_COLUMN)
        return step.column

    def _member(self, step: Step) -> AvroRow:
        column = self._columns[step.column].children[step.argument]
        return {column.name: self._run(step.parts[0])}

    def _default(self, step: Step) -> Any:
        place = self._data, self._at
        self._data, self._at = step.data, 0
        found = self._run(step.parts[0])
        self._data, self._at = place
        return found

    def _fail(self, step: Step) -> Any:
        raise UnreadableAvroError(step.data.decode())


def _of(step: Step) -> str:
    return f"{step.data.decode()}: " if step.data else ""

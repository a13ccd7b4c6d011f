"""How values of one Avro schema are read into the columns of another: a program of small steps.

Steps follow the bytes, in the writer's order. Each reads one value, and appends it to its column,
or passes over it. A step knows its parts by their numbers, so a type that holds itself is no
problem. The kernel (`src/avro_kernel`) and `avro_values` run the same programs.

What the two schemas do not agree on is a step that fails. So a value is only refused if it has
such a thing: an enum's unknown symbol, a branch of a union that the reader does not have.
"""

from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from barnabas.formats.arrow.avro_columns import (
    AvroColumn,
    digits_of,
    has_members,
    is_nullable,
    logical_of,
    members,
)
from barnabas.schemas.avro.compatibility import avro_findings
from barnabas.schemas.avro.default_bytes import default_bytes
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
    NoDefault,
    described,
    simple_name,
)
from barnabas.schemas.check_time import CheckTime

NO_COLUMN = -1
_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
_UNITS = {"millis": 1_000, "micros": 1, "nanos": -1_000}
"""Microseconds in one; negative: how many of them are a microsecond."""


class Op(IntEnum):
    """What a step reads; as in program.h."""

    NULL = 0
    BOOLEAN = 1
    INT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    BYTES = 6
    FIXED = 7
    ENUM = 8
    ARRAY = 9
    MAP = 10
    UNION = 11
    RECORD = 12
    MEMBER = 13
    DEFAULT = 14
    FAIL = 15


class Step(NamedTuple):
    op: Op
    column: int = NO_COLUMN
    """Which column gets the value; none if it is passed over."""
    argument: int = 0
    """Of FIXED the size, of INT and LONG a factor (negative: a divisor), of MEMBER its place."""
    parts: tuple[int, ...] = ()
    """Other steps: of a record its fields and then defaults of those that were not written."""
    data: bytes = b""
    """Of DEFAULT the value; of FAIL and ENUM what is said of a value that can't be read."""
    symbols: tuple[bytes | None, ...] = ()
    """Of ENUM, by their numbers; None is not known to the reader."""


class AvroProgram(NamedTuple):
    """Reads values of one schema; the step at 0 reads a whole value."""

    steps: tuple[Step, ...]


def program_of(
    writer: AvroType, reader: AvroType, root: AvroColumn, *, is_lenient: bool = False
) -> AvroProgram:
    """`root` is what `avro_columns` gives for the reader's schema.

    With `is_lenient`, a field that was not written and has no default is null.
    """
    made = _Steps(is_lenient)
    made.resolve(writer, reader, root, "")
    return AvroProgram(tuple(made.steps))


class _Steps:
    def __init__(self, is_lenient: bool) -> None:
        self.steps: list[Step] = []
        self._is_lenient = is_lenient
        self._passed: dict[int, int] = {}
        """Steps that pass over a value, by its type."""

    def _place(self) -> int:
        """For a step whose parts come first."""
        self.steps.append(Step(Op.FAIL))
        return len(self.steps) - 1

    def _put(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _fail(self, problem: str) -> int:
        return self._put(Step(Op.FAIL, data=problem.encode()))

    # -- into a column -------------------------------------------------------------------------

    def resolve(self, writer: AvroType, reader: AvroType, column: AvroColumn, at: str) -> int:
        if isinstance(writer, AvroUnion):
            place = self._place()
            parts = tuple(self.resolve(each, reader, column, at) for each in writer.branches)
            self.steps[place] = Step(Op.UNION, parts=parts)
            return place
        if isinstance(reader, AvroUnion):
            return self._into_union(writer, reader, column, at)
        if isinstance(reader, AvroRecord) and isinstance(writer, AvroRecord):
            return self._record(writer, reader, column, at)
        if isinstance(reader, AvroArray) and isinstance(writer, AvroArray):
            place = self._place()
            part = self.resolve(writer.items, reader.items, column.children[0], f"{at}[]")
            self.steps[place] = Step(Op.ARRAY, column.number, parts=(part,))
            return place
        if isinstance(reader, AvroMap) and isinstance(writer, AvroMap):
            place = self._place()
            part = self.resolve(writer.values, reader.values, column.children[1], f"{at}{{}}")
            self.steps[place] = Step(Op.MAP, column.number, parts=(part,))
            return place
        if isinstance(reader, AvroEnum) and isinstance(writer, AvroEnum):
            return self._enum(writer, reader, column, at)
        if isinstance(reader, AvroFixed) and isinstance(writer, AvroFixed):
            if not _same_name(writer, reader) or writer.size != reader.size:
                return self._mismatch(writer, reader, at)
            return self._binary(writer, column, at)
        if isinstance(reader, AvroPrimitive) and isinstance(writer, AvroPrimitive):
            return self._primitive(writer, reader, column, at)
        return self._mismatch(writer, reader, at)

    def _mismatch(self, writer: AvroType, reader: AvroType, at: str) -> int:
        return self._fail(
            f"{at or 'the value'}: was written as {described(writer)}, which can't be read as "
            f"{described(reader)}"
        )

    def _primitive(
        self, writer: AvroPrimitive, reader: AvroPrimitive, column: AvroColumn, at: str
    ) -> int:
        if writer.type != reader.type and writer.type not in _PROMOTIONS.get(reader.type, ()):
            return self._mismatch(writer, reader, at)
        if writer.type in ("bytes", "string"):
            return self._binary(writer, column, at)
        factor = 0
        if writer.type in ("int", "long") and pa.types.is_timestamp(column.type):
            # Units of different sizes are converted: the number alone would be another time.
            unit = logical_of(writer) or logical_of(reader) or ""
            factor = _UNITS.get(unit.rpartition("-")[2], _UNITS["micros"])
        return self._put(Step(Op[writer.type.upper()], column.number, factor))

    def _binary(
        self,
        writer: AvroPrimitive | AvroFixed,
        column: AvroColumn,
        at: str,
    ) -> int:
        if pa.types.is_decimal(column.type):
            digits = digits_of(writer)
            if digits is not None and digits[1] != column.type.scale:
                return self._fail(
                    f"{at}: was written with {digits[1]} decimal places, and is read with "
                    f"{column.type.scale}"
                )
        if isinstance(writer, AvroFixed):
            return self._put(Step(Op.FIXED, column.number, writer.size, data=at.encode()))
        return self._put(Step(Op.BYTES, column.number, data=at.encode()))

    def _enum(self, writer: AvroEnum, reader: AvroEnum, column: AvroColumn, at: str) -> int:
        if not _same_name(writer, reader):
            return self._mismatch(writer, reader, at)
        known = {each: each for each in reader.symbols}
        symbols = [known.get(each, reader.default) for each in writer.symbols]
        encoded = tuple(None if each is None else each.encode() for each in symbols)
        return self._put(Step(Op.ENUM, column.number, data=at.encode(), symbols=encoded))

    def _into_union(self, writer: AvroType, reader: AvroUnion, column: AvroColumn, at: str) -> int:
        if writer.type == "null":
            if is_nullable(reader):
                return self._put(Step(Op.NULL, column.number))
            return self._mismatch(writer, reader, at)
        branch = _branch_for(writer, reader)
        if branch is None:
            return self._mismatch(writer, reader, at)
        if not has_members(reader):
            return self.resolve(writer, branch, column, at)
        position = next(n for n, each in enumerate(members(reader)) if each is branch)
        place = self._place()
        part = self.resolve(writer, branch, column.children[position], at)
        self.steps[place] = Step(Op.MEMBER, column.number, position, (part,))
        return place

    def _record(self, writer: AvroRecord, reader: AvroRecord, column: AvroColumn, at: str) -> int:
        if not _same_name(writer, reader):
            return self._mismatch(writer, reader, at)
        place = self._place()
        columns = dict(zip((each.name for each in reader.fields), column.children, strict=True))
        read_as = _fields_read(writer, reader)
        parts = []
        for field in writer.fields:
            target = read_as.get(field.name)
            if target is None:
                parts.append(self._pass(field.type))
            else:
                inner = f"{at}.{target.name}" if at else target.name
                parts.append(self.resolve(field.type, target.type, columns[target.name], inner))
        written = {each.name for each in read_as.values()}
        for field in reader.fields:
            if field.name not in written:
                inner = f"{at}.{field.name}" if at else field.name
                parts.append(self._default(field, columns[field.name], inner))
        self.steps[place] = Step(Op.RECORD, column.number, parts=tuple(parts))
        return place

    def _default(self, field: AvroField, column: AvroColumn, at: str) -> int:
        if isinstance(field.default, NoDefault):
            if self._is_lenient:
                return self._put(Step(Op.NULL, column.number))
            return self._fail(f"{at}: was not written, and has no default")
        try:
            data = default_bytes(field.type, field.default)
        except ValueError as error:
            return self._fail(f"{at}: was not written, and {error}")
        place = self._place()
        part = self.resolve(field.type, field.type, column, at)
        self.steps[place] = Step(Op.DEFAULT, parts=(part,), data=data)
        return place

    # -- passed over ---------------------------------------------------------------------------

    def _pass(self, writer: AvroType) -> int:
        found = self._passed.get(id(writer))
        if found is not None:
            return found
        place = self._place()
        self._passed[id(writer)] = place  # before its parts, which may be the same type
        self.steps[place] = self._passing(writer)
        return place

    def _passing(self, writer: AvroType) -> Step:
        if isinstance(writer, AvroRecord):
            return Step(Op.RECORD, parts=tuple(self._pass(each.type) for each in writer.fields))
        if isinstance(writer, AvroUnion):
            return Step(Op.UNION, parts=tuple(self._pass(each) for each in writer.branches))
        if isinstance(writer, AvroArray):
            return Step(Op.ARRAY, parts=(self._pass(writer.items),))
        if isinstance(writer, AvroMap):
            return Step(Op.MAP, parts=(self._pass(writer.values),))
        if isinstance(writer, AvroFixed):
            return Step(Op.FIXED, argument=writer.size)
        if isinstance(writer, AvroEnum):
            return Step(Op.ENUM, symbols=tuple(each.encode() for each in writer.symbols))
        return Step(Op.BYTES if writer.type == "string" else Op[writer.type.upper()])


def _same_name(
    writer: AvroRecord | AvroEnum | AvroFixed, reader: AvroRecord | AvroEnum | AvroFixed
) -> bool:
    """Names without their namespace are compared, as in Java."""
    return simple_name(writer.name) == simple_name(reader.name) or writer.name in reader.aliases


def _fields_read(writer: AvroRecord, reader: AvroRecord) -> dict[str, AvroField]:
    """The reader's fields, by the names that they were written with.

    A field that has got a new name since names the former one as its alias. A reader that has only
    the former one finds it by that, which goes beyond Avro's rules: there it would be missing.
    """
    written = {each.name for each in writer.fields}
    renamed = {alias: each.name for each in writer.fields for alias in each.aliases}
    found: dict[str, AvroField] = {}
    for field in reader.fields:
        known = [each for each in (field.name, *field.aliases) if each in written]
        name = known[0] if known else renamed.get(field.name)
        if name is not None:
            found.setdefault(name, field)
    return found


def _branch_for(writer: AvroType, reader: AvroUnion) -> AvroType | None:
    """The type of a union that a value is read as: the same one, or the first that can read it."""
    for each in reader.branches:
        if each.type == writer.type and (
            not isinstance(each, AvroRecord | AvroEnum | AvroFixed)
            or each.name == getattr(writer, "name", None)
        ):
            return each
    time = CheckTime()
    return next(
        (each for each in reader.branches if not avro_findings(each, writer, time)), None
    ) or (next((each for each in reader.branches if _is_like(writer, each)), None))


def _is_like(writer: AvroType, reader: AvroType) -> bool:
    """Whether some values may be readable, such as enums with symbols that are not known."""
    if isinstance(reader, AvroRecord | AvroEnum | AvroFixed) and reader.type == writer.type:
        assert isinstance(writer, AvroRecord | AvroEnum | AvroFixed)
        return _same_name(writer, reader)
    return False

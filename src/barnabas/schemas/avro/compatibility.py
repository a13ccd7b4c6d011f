"""Whether a reader with one Avro schema can read what a writer with another one wrote.

The rules are those of "Schema Resolution" in Avro's specification, and the kinds and paths of
findings those of its Java library, which Confluent's registry returns.
"""

from typing import NamedTuple

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
    NamedType,
    NoDefault,
    described,
    simple_name,
)
from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.incompatibility import Incompatibility

_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
"""What else a reader of a type can read."""
_NOTHING = 1 << 30
"""Deeper than any record."""


class _Place(NamedTuple):
    """Where the comparison is: as Java's library has it, and as people say it."""

    path: str
    field: str

    def at(self, *steps: str | int, suffix: str = "") -> "_Place":
        return _Place("/".join((self.path, *map(str, steps))), self.field + suffix)

    @property
    def named(self) -> str:
        return self.field or "the schema"


def avro_findings(reader: AvroType, writer: AvroType, time: CheckTime) -> list[Incompatibility]:
    start = simple_name(reader.name) if isinstance(reader, AvroRecord) else ""
    comparison = _Comparison(time)
    return comparison.compare(reader, writer, _Place("", start))


class _Comparison:
    def __init__(self, time: CheckTime) -> None:
        self._time = time
        self._compared: dict[tuple[int, int], int] = {}
        """Records that are compared at the moment, by depth: they may contain themselves."""
        self._assumed = _NOTHING
        """The least depth of those that were taken to be readable meanwhile."""
        self._readable_records: set[tuple[int, int]] = set()
        """Records that are readable whatever contains them."""
        self._fields_of: dict[int, dict[str, AvroField]] = {}
        self._known: dict[tuple[int, int], bool] = {}
        """Whether a union reads a branch: asked again for each level above it."""

    def compare(self, reader: AvroType, writer: AvroType, place: _Place) -> list[Incompatibility]:
        self._time.step()
        if isinstance(writer, AvroUnion):
            return self._written_union(reader, writer, place)
        if isinstance(reader, AvroUnion):
            return self._read_union(reader, writer, place)
        if isinstance(reader, AvroArray) and isinstance(writer, AvroArray):
            return self.compare(reader.items, writer.items, place.at("items", suffix="[]"))
        if isinstance(reader, AvroMap) and isinstance(writer, AvroMap):
            return self.compare(reader.values, writer.values, place.at("values", suffix="{}"))
        if isinstance(reader, AvroFixed) and isinstance(writer, AvroFixed):
            return _names(reader, writer, place) + _sizes(reader, writer, place)
        if isinstance(reader, AvroEnum) and isinstance(writer, AvroEnum):
            return _names(reader, writer, place) + _symbols(reader, writer, place)
        if isinstance(reader, AvroRecord) and isinstance(writer, AvroRecord):
            return self._records(reader, writer, place)
        if isinstance(reader, AvroPrimitive) and isinstance(writer, AvroPrimitive):
            same = reader.type == writer.type
            if same or writer.type in _PROMOTIONS.get(reader.type, ()):
                return []
        message = (
            f"{place.named} is {described(reader)}, which can't read {described(writer)} "
            "as it was written"
        )
        return [_finding("TYPE_MISMATCH", place, message, described(writer), described(reader))]

    def _written_union(
        self, reader: AvroType, writer: AvroUnion, place: _Place
    ) -> list[Incompatibility]:
        found: list[Incompatibility] = []
        for position, branch in enumerate(writer.branches):
            if not isinstance(reader, AvroUnion):
                found += self.compare(reader, branch, place)
            elif not self._readable(reader, branch):
                found.append(self._missing_branch(reader, branch, place.at(position)))
        return found

    def _read_union(
        self, reader: AvroUnion, writer: AvroType, place: _Place
    ) -> list[Incompatibility]:
        if self._readable(reader, writer):
            return []
        return [self._missing_branch(reader, writer, place)]

    def _readable(self, reader: AvroUnion, writer: AvroType) -> bool:
        pair = (id(reader), id(writer))
        if pair not in self._known:
            nowhere = _Place("", "")
            branches = reader.branches
            self._known[pair] = any(not self.compare(each, writer, nowhere) for each in branches)
        return self._known[pair]

    def _missing_branch(
        self, reader: AvroUnion, writer: AvroType, place: _Place
    ) -> Incompatibility:
        message = (
            f"{place.named} is {described(reader)}, which can't read {described(writer)} "
            "as it was written"
        )
        alike = [each for each in reader.branches if _alike(each, writer)]
        if len(alike) == 1:  # name the field inside it, which says more
            inner = self.compare(alike[0], writer, place)
            message = "; ".join(each.message for each in inner)
        old, new = described(writer), described(reader)
        return _finding("MISSING_UNION_BRANCH", place, message, old, new)

    def _records(
        self, reader: AvroRecord, writer: AvroRecord, place: _Place
    ) -> list[Incompatibility]:
        pair = (id(reader), id(writer))
        if pair in self._compared:
            self._assumed = min(self._assumed, self._compared[pair])
            return []
        if pair in self._readable_records:
            return []
        depth = self._compared[pair] = len(self._compared)
        above, self._assumed = self._assumed, _NOTHING
        try:
            found = _names(reader, writer, place)
            for position, field in enumerate(reader.fields):
                found += self._field(position, field, writer, place)
        finally:
            del self._compared[pair]
        if self._assumed >= depth:
            self._assumed = _NOTHING
            if not found:
                self._readable_records.add(pair)
        self._assumed = min(above, self._assumed)
        return found

    def _field(
        self, position: int, field: AvroField, writer: AvroRecord, place: _Place
    ) -> list[Incompatibility]:
        inner = place.at("fields", position, suffix=f".{field.name}")
        written = self._written_field(field, writer)
        if written is not None:
            return self.compare(field.type, written.type, inner.at("type"))
        if not isinstance(field.default, NoDefault):
            return []
        message = (
            f"{inner.named} has no default, and records were written without it; "
            f"give it a default, for example {_suggested(field.type)}"
        )
        new = f"{field.name}: {described(field.type)}"
        return [_finding("READER_FIELD_MISSING_DEFAULT_VALUE", inner, message, None, new)]

    def _written_field(self, field: AvroField, writer: AvroRecord) -> AvroField | None:
        by_name = self._fields_of.get(id(writer))
        if by_name is None:
            by_name = self._fields_of[id(writer)] = {each.name: each for each in writer.fields}
        for name in (field.name, *field.aliases):
            if name in by_name:
                return by_name[name]
        return None


def _names(reader: NamedType, writer: NamedType, place: _Place) -> list[Incompatibility]:
    """Names without their namespace are compared, as in Java."""
    if simple_name(reader.name) == simple_name(writer.name) or writer.name in reader.aliases:
        return []
    message = (
        f"{place.named} is {described(reader)}, and was written as {described(writer)}; "
        f'keep the name or add "aliases": ["{writer.name}"]'
    )
    return [_finding("NAME_MISMATCH", place.at("name"), message, writer.name, reader.name)]


def _sizes(reader: AvroFixed, writer: AvroFixed, place: _Place) -> list[Incompatibility]:
    if reader.size == writer.size:
        return []
    message = f"{place.named} has {reader.size} bytes, and was written with {writer.size}"
    old, new = str(writer.size), str(reader.size)
    return [_finding("FIXED_SIZE_MISMATCH", place.at("size"), message, old, new)]


def _symbols(reader: AvroEnum, writer: AvroEnum, place: _Place) -> list[Incompatibility]:
    known = set(reader.symbols)
    missing = [each for each in writer.symbols if each not in known]
    if not missing or reader.default is not None:
        return []
    message = (
        f"{place.named} lacks {', '.join(missing)}, which may have been written; "
        "keep the symbols or give the enum a default"
    )
    old, new = ", ".join(writer.symbols), ", ".join(reader.symbols)
    return [_finding("MISSING_ENUM_SYMBOLS", place.at("symbols"), message, old, new)]


def _alike(one: AvroType, other: AvroType) -> bool:
    if isinstance(one, NamedType) and isinstance(other, NamedType):
        return one.type == other.type and simple_name(one.name) == simple_name(other.name)
    return one.type == other.type


def _suggested(of: AvroType) -> str:
    if isinstance(of, AvroUnion):
        branches = [each.type for each in of.branches]
        return '"default": null' if "null" in branches else '"default" of one of its types'
    if isinstance(of, AvroPrimitive):
        examples = {"string": '""', "boolean": "false", "bytes": '""', "null": "null"}
        return f'"default": {examples.get(of.type, "0")}'
    if isinstance(of, AvroArray):
        return '"default": []'
    if isinstance(of, AvroMap):
        return '"default": {}'
    return f'the type ["null", "{of.name}"] with "default": null'


def _finding(
    kind: str, place: _Place, message: str, old: str | None, new: str | None
) -> Incompatibility:
    return Incompatibility(kind, place.path or "/", place.field, message, old, new)

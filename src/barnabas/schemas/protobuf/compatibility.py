"""Whether a reader with one .proto file can read what a writer with another one wrote.

The rules are those of the wire format: fields are known by their numbers, and a number may only
change to a type with the same bytes. Kinds and paths are those of Confluent's registry, which also
forbids to remove messages, required fields and fields of a oneof.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.protobuf.elements import ProtoField, ProtoFile, ProtoMessage, ProtoOneof
from barnabas.schemas.protobuf.names import SCALARS, ProtoType, find_type, joined

_BYTES = {
    "int32": "varint", "int64": "varint", "uint32": "varint", "uint64": "varint",
    "bool": "varint", "sint32": "zigzag", "sint64": "zigzag", "string": "text", "bytes": "text",
}  # fmt: skip
"""Types that can be read as each other; all others as themselves, or see `_SAME`."""
_SAME = {"sfixed32": "fixed32", "sfixed64": "fixed64"}


class _Side(NamedTuple):
    """One of the two files, and where in it the comparison is."""

    types: Mapping[str, ProtoType]
    scope: str

    def into(self, name: str) -> "_Side":
        return self._replace(scope=joined(self.scope, name))

    def find(self, name: str) -> ProtoType | None:
        return find_type(self.types, name, self.scope)


class _Place(NamedTuple):
    path: str
    field: str

    def at(self, step: str | int, name: str | None = None) -> "_Place":
        field = joined(self.field, name if name is not None else str(step))
        return _Place(f"{self.path.rstrip('/')}/{step}", field)


def protobuf_findings(
    reader: ProtoFile,
    reader_types: Mapping[str, ProtoType],
    writer: ProtoFile,
    writer_types: Mapping[str, ProtoType],
) -> list[Incompatibility]:
    comparison = _Comparison()
    new, old = _Side(reader_types, reader.package), _Side(writer_types, writer.package)
    comparison.all_messages(reader.messages, writer.messages, new, old, _Place("#/", ""))
    return comparison.found


class _Comparison:
    def __init__(self) -> None:
        self.found: list[Incompatibility] = []
        self._compared: set[tuple[str, str]] = set()
        """Imported messages that have been compared: they may contain themselves."""

    def _add(
        self, kind: str, place: _Place, message: str, old: str | None, new: str | None
    ) -> None:
        self.found.append(Incompatibility(kind, place.path, place.field, message, old, new))

    def all_messages(
        self,
        reader: list[ProtoMessage],
        writer: list[ProtoMessage],
        new: _Side,
        old: _Side,
        place: _Place,
    ) -> None:
        by_name = {each.name: each for each in reader}
        for message in writer:
            inner = place.at(message.name)
            if message.name not in by_name:
                text = f"message {inner.field} was removed, and may have been written; keep it"
                self._add("MESSAGE_REMOVED", inner, text, message.name, None)
                continue
            name = message.name
            self._messages(by_name[name], message, new.into(name), old.into(name), inner)

    def _messages(
        self, reader: ProtoMessage, writer: ProtoMessage, new: _Side, old: _Side, place: _Place
    ) -> None:
        self._oneofs(reader, writer, place)
        written = {each.number: each for each in writer.all_fields()}
        read = {each.number: each for each in reader.all_fields()}
        for number in sorted(written.keys() | read.keys()):
            field, before = read.get(number), written.get(number)
            if field is None:
                assert before is not None
                if before.label == "required":
                    inner = place.at(number, before.name)
                    text = f"{inner.field} (number {number}) is required, and was removed"
                    self._add("REQUIRED_FIELD_REMOVED", inner, text, _text(before), None)
            elif before is None:
                if field.label == "required":
                    inner = place.at(number, field.name)
                    text = (
                        f"{inner.field} (number {number}) is required, and messages were written "
                        "without it; make it optional"
                    )
                    self._add("REQUIRED_FIELD_ADDED", inner, text, None, _text(field))
            else:
                inner = place.at(number, field.name)
                if field.oneof is not None and field.oneof == before.oneof:
                    inner = inner._replace(path=place.at(field.oneof).at(number).path)
                self._fields(field, before, new, old, inner)
        self.all_messages(reader.messages, writer.messages, new, old, place)

    def _oneofs(self, reader: ProtoMessage, writer: ProtoMessage, place: _Place) -> None:
        before = {each.number: each for each in writer.all_fields()}
        after = {each.number for each in reader.all_fields()}
        for oneof in reader.oneofs:
            moved = [
                before[each.number]
                for each in oneof.fields
                if each.number in before and before[each.number].oneof is None
            ]
            members = [
                each
                for each in oneof.fields
                if each.number in before and before[each.number].oneof is not None
            ]
            inner = place.at(oneof.name)
            names = ", ".join(each.name for each in moved)
            if len(moved) > 1:
                text = (
                    f"{names} moved into oneof {inner.field}, and messages may have been written "
                    "with more than one of them; move at most one"
                )
                self._add("MULTIPLE_FIELDS_MOVED_TO_ONEOF", inner, text, names, oneof.name)
            elif moved and members:
                text = (
                    f"{names} moved into oneof {inner.field}, and messages may have been written "
                    "with it and another one of its fields"
                )
                self._add("FIELD_MOVED_TO_EXISTING_ONEOF", inner, text, names, oneof.name)
        kept = {each.name for each in reader.oneofs}
        for old_oneof in writer.oneofs:
            if old_oneof.name in kept:
                self._removed(old_oneof, after, place.at(old_oneof.name))

    def _removed(self, oneof: ProtoOneof, after: set[int], place: _Place) -> None:
        for field in oneof.fields:
            if field.number not in after:
                inner = place.at(field.number, field.name)
                text = (
                    f"{inner.field} (number {field.number}) was removed from its oneof, so readers "
                    "can't tell whether it was set; keep it"
                )
                self._add("ONEOF_FIELD_REMOVED", inner, text, _text(field), None)

    def _fields(
        self, field: ProtoField, before: ProtoField, new: _Side, old: _Side, place: _Place
    ) -> None:
        kind, was = _kind(field, new), _kind(before, old)
        text = (
            f"{place.field} (number {field.number}) is {_type(field)}, and was written as "
            f"{_type(before)}; give it a new number"
        )
        if kind != was:
            self._add("FIELD_KIND_CHANGED", place, text, _type(before), _type(field))
            return
        if field.map_key is not None and before.map_key is not None:
            if _scalar(field.map_key) != _scalar(before.map_key):
                old_key, new_key = _type(before), _type(field)
                self._add("FIELD_SCALAR_KIND_CHANGED", place, text, old_key, new_key)
                return
            field, before = _value(field), _value(before)
            if _kind(field, new) != _kind(before, old):
                self._add("FIELD_KIND_CHANGED", place, text, before.type, field.type)
                return
            kind = _kind(field, new)
        if kind == "message":
            self._named(field, before, new, old, place)
            return
        if _bytes(field) != _bytes(before):
            self._add("FIELD_SCALAR_KIND_CHANGED", place, text, _type(before), _type(field))
        elif _bytes(field) != "text":
            self._label(field, before, place, text)

    def _label(self, field: ProtoField, before: ProtoField, place: _Place, text: str) -> None:
        """A list of numbers is packed into one value, which is not read as a single number."""
        if (field.label == "repeated") != (before.label == "repeated"):
            kind = "FIELD_NUMERIC_LABEL_CHANGED"
            self._add(kind, place, text, _type(before), _type(field))

    def _named(
        self, field: ProtoField, before: ProtoField, new: _Side, old: _Side, place: _Place
    ) -> None:
        type_, was = new.find(field.type), old.find(before.type)
        assert type_ is not None
        assert was is not None
        if type_.local_name != was.local_name:
            text = (
                f"{place.field} (number {field.number}) is message {type_.local_name}, and was "
                f"written as {was.local_name}; keep the message or give it a new number"
            )
            kind = "FIELD_NAMED_TYPE_CHANGED"
            self._add(kind, place, text, was.local_name, type_.local_name)
            return
        if not (type_.is_imported or was.is_imported) or (type_.name, was.name) in self._compared:
            return
        self._compared.add((type_.name, was.name))
        if isinstance(type_.element, ProtoMessage) and isinstance(was.element, ProtoMessage):
            inner = _Place(place.path, place.field)
            into, before_side = new._replace(scope=type_.name), old._replace(scope=was.name)
            self._messages(type_.element, was.element, into, before_side, inner)


def _kind(field: ProtoField, side: _Side) -> str:
    if field.map_key is not None:
        return "map"
    if field.type in SCALARS:
        return "scalar"
    found = side.find(field.type)
    return "scalar" if found is not None and found.is_enum else "message"


def _bytes(field: ProtoField) -> str:
    """What the bytes of a scalar mean."""
    return _scalar(field.type) if field.type in SCALARS else "varint"


def _scalar(name: str) -> str:
    return _BYTES.get(name) or _SAME.get(name, name)


def _value(field: ProtoField) -> ProtoField:
    return ProtoField(field.name, field.number, field.type)


def _type(field: ProtoField) -> str:
    if field.map_key is not None:
        return f"map<{field.map_key}, {field.type}>"
    return f"repeated {field.type}" if field.label == "repeated" else field.type


def _text(field: ProtoField) -> str:
    return f"{field.label or ''} {_type(field)} {field.name} = {field.number}".strip()

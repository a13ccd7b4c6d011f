"""What a .proto file may not contain. Messages name the message and the field."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from barnabas.schemas.protobuf.elements import (
    MAX_NUMBER,
    BareWord,
    NumberRange,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoOption,
    ReservedValue,
)
from barnabas.schemas.protobuf.names import SCALARS, ProtoType, find_type, joined
from barnabas.schemas.protobuf.well_known import FILES
from barnabas.schemas.schema import InvalidSchemaError

_OF_PROTOBUF = range(19_000, 20_000)
_NO_KEYS = {"double", "float", "bytes"}


def validate(
    file: ProtoFile, types: Mapping[str, ProtoType], imported: Mapping[str, ProtoFile]
) -> None:
    """Raises InvalidSchemaError."""
    for path in (*file.imports, *file.public_imports):
        if path not in imported and path not in FILES:
            raise InvalidSchemaError(f"import {path!r} is unknown; add a reference with this name")
    _Validation(file, types).file()


class _Validation:
    def __init__(self, file: ProtoFile, types: Mapping[str, ProtoType]) -> None:
        self._file = file
        self._types = types

    def file(self) -> None:
        file = self._file
        names = [each.name for each in file.messages] + [each.name for each in file.enums]
        _once("the file", names)
        for message in file.messages:
            self._message(message, joined(file.package, message.name), message.name)
        for enum in file.enums:
            self._enum(enum, enum.name)

    def _message(self, message: ProtoMessage, scope: str, path: str) -> None:
        fields = list(message.all_fields())
        nested = [each.name for each in message.messages] + [each.name for each in message.enums]
        nested += [each.name for each in message.oneofs]
        _once(path, [*(each.name for each in fields), *nested])
        reserved = _Reserved(message.reserved)
        numbers: dict[int, str] = {}
        for field in fields:
            inner = f"{path}.{field.name}"
            _number(field, inner)
            if field.number in numbers:
                other = numbers[field.number]
                raise InvalidSchemaError(f"{inner}: {other!r} has number {field.number} as well")
            numbers[field.number] = field.name
            if field.name in reserved.names:
                raise InvalidSchemaError(f"{inner}: the name is reserved")
            if reserved.has_number(field.number):
                raise InvalidSchemaError(f"{inner}: number {field.number} is reserved")
            self._type(field, scope, inner)
        for oneof in message.oneofs:
            if not oneof.fields:
                raise InvalidSchemaError(f"{path}.{oneof.name}: a oneof needs a field")
        for inner_message in message.messages:
            name = inner_message.name
            self._message(inner_message, joined(scope, name), f"{path}.{name}")
        for enum in message.enums:
            self._enum(enum, f"{path}.{enum.name}")

    def _type(self, field: ProtoField, scope: str, path: str) -> None:
        if self._file.is_proto3:
            if field.label == "required":
                raise InvalidSchemaError(f"{path}: proto3 has no required fields")
            if any(each.name == "default" for each in field.options):
                raise InvalidSchemaError(f"{path}: proto3 has no defaults")
        elif field.label is None and field.oneof is None and field.map_key is None:
            raise InvalidSchemaError(f"{path}: a field of proto2 is optional, required or repeated")
        if field.map_key is not None:
            if field.map_key not in SCALARS - _NO_KEYS:
                raise InvalidSchemaError(f"{path}: {field.map_key} can't be the key of a map")
            if field.label is not None or field.oneof is not None:
                raise InvalidSchemaError(f"{path}: a map has no label and is in no oneof")
        if field.type not in SCALARS and find_type(self._types, field.type, scope) is None:
            raise InvalidSchemaError(
                f"{path}: unknown type {field.type!r}; define it or import its file"
            )

    def _enum(self, enum: ProtoEnum, path: str) -> None:
        if not enum.values:
            raise InvalidSchemaError(f"{path}: an enum needs a value")
        _once(path, [each.name for each in enum.values])
        if self._file.is_proto3 and enum.values[0].number != 0:
            first = enum.values[0]
            raise InvalidSchemaError(
                f"{path}.{first.name}: the first value of a proto3 enum is 0, got {first.number}"
            )
        reserved = _Reserved(enum.reserved)
        numbers: dict[int, str] = {}
        for value in enum.values:
            inner = f"{path}.{value.name}"
            if value.number in numbers and not _allows_alias(enum.options):
                other = numbers[value.number]
                raise InvalidSchemaError(f"{inner}: {other!r} has number {value.number} as well")
            numbers[value.number] = value.name
            if value.name in reserved.names:
                raise InvalidSchemaError(f"{inner}: the name is reserved")
            if reserved.has_number(value.number):
                raise InvalidSchemaError(f"{inner}: number {value.number} is reserved")


def _number(field: ProtoField, path: str) -> None:
    if not 1 <= field.number <= MAX_NUMBER:
        raise InvalidSchemaError(f"{path}: a number is 1 to {MAX_NUMBER}, got {field.number}")
    if field.number in _OF_PROTOBUF:
        raise InvalidSchemaError(f"{path}: numbers 19000 to 19999 are Protobuf's own")


def _once(path: str, names: list[str]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise InvalidSchemaError(f"{path}: {name!r} is defined twice")
        seen.add(name)


class _Reserved:
    """Names and numbers that no field may have: there may be as many as fields."""

    def __init__(self, reserved: list[list[ReservedValue]]) -> None:
        every = [each for some in reserved for each in some]
        self.names = frozenset(each for each in every if isinstance(each, str))
        ranges = sorted((each.first, each.last) for each in every if isinstance(each, NumberRange))
        self._firsts = [first for first, _ in ranges]
        self._lasts = list(accumulate((last for _, last in ranges), max))
        """The highest number of a range and of those before it."""

    def has_number(self, number: int) -> bool:
        at = bisect_right(self._firsts, number)
        return at > 0 and number <= self._lasts[at - 1]


def _allows_alias(options: list[ProtoOption]) -> bool:
    return any(each.name == "allow_alias" and each.value == BareWord("true") for each in options)

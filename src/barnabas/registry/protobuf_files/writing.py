"""A compiled file of a parsed Protobuf text. Options that a file defines are left out."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.registry.model.checks import UnusableSchemaError
from barnabas.registry.protobuf_files.library import (
    descriptor_module,
    entry_name,
)
from barnabas.schemas.protobuf.elements import (
    BareWord,
    ProtoEnum,
    ProtoField,
    ProtoMessage,
    ProtoOption,
    QuotedText,
    ReservedValue,
)
from barnabas.schemas.protobuf.names import find_type, joined
from barnabas.schemas.protobuf.parsed import ParsedProtobuf

_LABELS = {"optional": 1, "required": 2, "repeated": 3}
_OPTIONAL, _REPEATED = 1, 3
_MESSAGE, _ENUM = 11, 14
_BOOLS = {"true": True, "false": False}


def compiled(schema: ParsedProtobuf, name: str = "default") -> str:
    """In base64. Raises `UnusableSchemaError`."""
    descriptors = descriptor_module()
    file = descriptors.FileDescriptorProto(name=name, package=schema.file.package)
    _Writer(descriptors, schema).write(file)
    return b64encode(file.SerializeToString(deterministic=True)).decode()


class _Writer:
    def __init__(self, descriptors: Any, schema: ParsedProtobuf) -> None:
        self._descriptors = descriptors
        self._schema = schema
        self._is_proto3 = schema.file.is_proto3

    def write(self, target: Any) -> None:
        source = self._schema.file
        if self._is_proto3:
            target.syntax = "proto3"
        target.dependency.extend([*source.imports, *source.public_imports])
        first = len(source.imports)
        target.public_dependency.extend(range(first, first + len(source.public_imports)))
        _set_options(target, source.options)
        for enum in source.enums:
            self._enum(target.enum_type.add(), enum)
        for message in source.messages:
            self._message(target.message_type.add(), message, source.package)
        for extend in source.extends:
            for each in extend.fields:
                field = target.extension.add(extendee=self._name(extend.name, source.package)[0])
                self._field(field, each, source.package)
        for service in source.services:
            added = target.service.add(name=service.name)
            _set_options(added, service.options)
            for rpc in service.rpcs:
                method = added.method.add(name=rpc.name)
                method.input_type = self._name(rpc.request, source.package)[0]
                method.output_type = self._name(rpc.response, source.package)[0]
                if rpc.streams_requests:
                    method.client_streaming = True
                if rpc.streams_responses:
                    method.server_streaming = True
                _set_options(method, rpc.options)

    def _message(self, target: Any, message: ProtoMessage, scope: str) -> None:
        target.name = message.name
        inside = joined(scope, message.name)
        _set_options(target, message.options)
        for each in message.fields:
            field = target.field.add()
            if each.map_key is None:
                self._field(field, each, inside)
            else:
                self._map(target, field, each, inside)
        for oneof in message.oneofs:
            index = len(target.oneof_decl)
            _set_options(target.oneof_decl.add(name=oneof.name), oneof.options)
            for each in oneof.fields:
                self._field(target.field.add(oneof_index=index), each, inside)
        for field in target.field:
            if field.proto3_optional:  # those come after all other oneofs
                field.oneof_index = len(target.oneof_decl)
                target.oneof_decl.add(name=f"_{field.name}")
        for enum in message.enums:
            self._enum(target.enum_type.add(), enum)
        for nested in message.messages:
            self._message(target.nested_type.add(), nested, inside)
        _add_reserved(target, message.reserved, beyond=1)
        for spans in message.extensions:
            for span in spans:
                target.extension_range.add(start=span.first, end=span.last + 1)
        for extend in message.extends:
            for each in extend.fields:
                field = target.extension.add(extendee=self._name(extend.name, inside)[0])
                self._field(field, each, inside)

    def _field(self, target: Any, field: ProtoField, scope: str) -> None:
        target.name, target.number = field.name, field.number
        target.label = _LABELS.get(field.label or "", _OPTIONAL)
        if self._is_proto3 and field.label == "optional":
            target.proto3_optional = True
        self._set_type(target, field.type, scope)
        for each in field.options:
            if each.name == "default" and isinstance(each.value, QuotedText | BareWord):
                target.default_value = each.value.text
            elif each.name == "json_name" and isinstance(each.value, QuotedText):
                target.json_name = each.value.text
        own = [each for each in field.options if each.name not in ("default", "json_name")]
        _set_options(target, own)

    def _map(self, message: Any, target: Any, field: ProtoField, scope: str) -> None:
        entry = message.nested_type.add(name=entry_name(field.name))
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, label=_OPTIONAL)
        self._set_type(key, str(field.map_key), scope)
        value = entry.field.add(name="value", number=2, label=_OPTIONAL)
        self._set_type(value, field.type, scope)
        target.name, target.number, target.label = field.name, field.number, _REPEATED
        target.type = _MESSAGE
        target.type_name = f".{joined(scope, entry.name)}"
        _set_options(target, field.options)

    def _enum(self, target: Any, enum: ProtoEnum) -> None:
        target.name = enum.name
        _set_options(target, enum.options)
        for each in enum.values:
            _set_options(target.value.add(name=each.name, number=each.number), each.options)
        _add_reserved(target, enum.reserved, beyond=0)

    def _set_type(self, target: Any, name: str, scope: str) -> None:
        scalar = f"TYPE_{name.upper()}"
        kinds = self._descriptors.FieldDescriptorProto.Type
        if scalar in kinds.keys() and scalar not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP"):  # noqa: SIM118 - an enum's
            target.type = kinds.Value(scalar)
            return
        target.type_name, is_enum = self._name(name, scope)
        target.type = _ENUM if is_enum else _MESSAGE

    def _name(self, name: str, scope: str) -> tuple[str, bool]:
        found = find_type(self._schema.types, name, scope)
        if found is None:
            raise UnusableSchemaError(f"type {name} in {scope} is not known")
        return f".{found.name}", found.is_enum


def _set_options(target: Any, options: Iterable[ProtoOption]) -> None:
    """Those that Protobuf defines."""
    fields = type(target.options).DESCRIPTOR.fields_by_name
    for each in options:
        field = fields.get(each.name)
        if field is None or not isinstance(each.value, QuotedText | BareWord):
            continue
        text = each.value.text
        if isinstance(each.value, QuotedText):
            value: object = text
        elif field.enum_type is not None:
            value = field.enum_type.values_by_name[text].number
        else:
            value = _BOOLS[text] if text in _BOOLS else int(text)
        there = getattr(target.options, each.name)
        if isinstance(there, str | int | float | bytes):
            setattr(target.options, each.name, value)
        else:
            there.append(value)


def _add_reserved(target: Any, reserved: Iterable[Sequence[ReservedValue]], *, beyond: int) -> None:
    for values in reserved:
        for each in values:
            if isinstance(each, str):
                target.reserved_name.append(each)
            else:
                target.reserved_range.add(start=each.first, end=each.last + beyond)

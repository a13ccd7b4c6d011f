"""The text of a compiled Protobuf file. Options that Protobuf does not define itself are left out.

It need not be beautiful: the registry stores the canonical text of it.
"""

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from barnabas.registry.model.checks import UnusableSchemaError
from barnabas.registry.protobuf_files.library import default_json_name, descriptor_module

_LABELS = {1: "optional ", 2: "required ", 3: "repeated "}
_REPEATED = 3
_TYPES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_STRING, _BYTES, _GROUP, _ENUM = 9, 12, 10, 14
_MAX = 536_870_912
_MAX_ENUM = 2**31 - 1


def text_of(schema: str) -> str:
    """The text of a schema, whether it is compiled or not. Raises `UnusableSchemaError`."""
    try:
        data = b64decode(schema.strip(), validate=True)
    except (Base64Error, ValueError):
        return schema  # a text has spaces
    descriptors = descriptor_module()
    from google.protobuf.message import DecodeError

    try:
        file = descriptors.FileDescriptorProto.FromString(data)
    except DecodeError as error:
        raise UnusableSchemaError(f"it is no compiled Protobuf file: {error}") from None
    return "\n".join([*_file(file), ""])


def _file(file: Any) -> Iterator[str]:
    is_proto3 = file.syntax == "proto3"
    if file.syntax not in ("", "proto2", "proto3"):
        raise UnusableSchemaError(f"Protobuf with syntax {file.syntax!r} is not supported")
    yield f'syntax = "{file.syntax or "proto2"}";'
    if file.package:
        yield f"package {file.package};"
    for index, path in enumerate(file.dependency):
        public = "public " if index in file.public_dependency else ""
        yield f"import {public}{json.dumps(path)};"
    yield from _option_lines(file.options)
    for enum in file.enum_type:
        yield from _enum(enum)
    for message in file.message_type:
        yield from _message(message, is_proto3)
    yield from _extensions(file.extension, is_proto3)
    for service in file.service:
        yield f"service {service.name} {{"
        yield from _option_lines(service.options)
        for method in service.method:
            request = f"{'stream ' * method.client_streaming}{method.input_type}"
            response = f"{'stream ' * method.server_streaming}{method.output_type}"
            yield f"rpc {method.name} ({request}) returns ({response}) {{"
            yield from _option_lines(method.options)
            yield "}"
        yield "}"


def _message(message: Any, is_proto3: bool) -> Iterator[str]:
    yield f"message {message.name} {{"
    yield from _option_lines(message.options)
    entries = {each.name: each for each in message.nested_type if each.options.map_entry}
    for enum in message.enum_type:
        yield from _enum(enum)
    for nested in message.nested_type:
        if nested.name not in entries:
            yield from _message(nested, is_proto3)
    for field in message.field:
        if not field.HasField("oneof_index") or field.proto3_optional:
            yield _field(field, entries, is_proto3)
    for index, oneof in enumerate(message.oneof_decl):
        members = [
            each
            for each in message.field
            if each.HasField("oneof_index")
            and each.oneof_index == index
            and not each.proto3_optional
        ]
        if members:
            yield f"oneof {oneof.name} {{"
            yield from _option_lines(oneof.options)
            for each in members:
                yield _field(each, entries, is_proto3, in_oneof=True)
            yield "}"
    yield from _reserved(message, 1, _MAX)
    for span in message.extension_range:
        yield f"extensions {_span(span.start, span.end - 1, _MAX - 1)};"
    yield from _extensions(message.extension, is_proto3)
    yield "}"


def _field(
    field: Any,
    entries: Mapping[str, Any],
    is_proto3: bool,
    *,
    in_oneof: bool = False,
) -> str:
    if field.type == _GROUP:
        raise UnusableSchemaError(f"field {field.name}: groups are not supported")
    entry = entries.get(field.type_name.rpartition(".")[2]) if field.type_name else None
    if entry is not None and field.label == _REPEATED:
        key, value = entry.field
        kind, label = f"map<{_type(key)}, {_type(value)}>", ""
    else:
        kind = _type(field)
        is_plain = is_proto3 and field.label != _REPEATED and not field.proto3_optional
        label = "" if in_oneof or is_plain else _LABELS[field.label]
    options = list(_options(field.options))
    if field.HasField("default_value"):
        is_text = field.type in (_STRING, _BYTES)
        value = json.dumps(field.default_value) if is_text else field.default_value
        options.append(f"default = {value}")
    if field.json_name and field.json_name != default_json_name(field.name):
        options.append(f"json_name = {json.dumps(field.json_name)}")
    shown = f" [{', '.join(options)}]" if options else ""
    return f"{label}{kind} {field.name} = {field.number}{shown};"


def _type(field: Any) -> str:
    return field.type_name or _TYPES[field.type]


def _enum(enum: Any) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    yield from _option_lines(enum.options)
    for value in enum.value:
        options = list(_options(value.options))
        shown = f" [{', '.join(options)}]" if options else ""
        yield f"{value.name} = {value.number}{shown};"
    yield from _reserved(enum, 0, _MAX_ENUM)
    yield "}"


def _reserved(element: Any, beyond: int, largest: int) -> Iterator[str]:
    """`beyond` is how far the end of a range is after its last number."""
    for span in element.reserved_range:
        yield f"reserved {_span(span.start, span.end - beyond, largest - beyond)};"
    for name in element.reserved_name:
        yield f"reserved {json.dumps(name)};"


def _span(first: int, last: int, largest: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last >= largest else last}"


def _extensions(fields: Iterable[Any], is_proto3: bool) -> Iterator[str]:
    for field in fields:
        yield f"extend {field.extendee} {{"
        yield _field(field, {}, is_proto3)
        yield "}"


def _option_lines(options: Any) -> Iterator[str]:
    for each in _options(options):
        if not each.startswith("map_entry"):
            yield f"option {each};"


def _options(options: Any) -> Iterator[str]:
    for descriptor, value in options.ListFields():
        if descriptor.is_extension or descriptor.message_type is not None:
            continue
        values = [value] if isinstance(value, str | int | float | bytes) else list(value)
        for each in values:
            yield f"{descriptor.name} = {_constant(descriptor, each)}"


def _constant(descriptor: Any, value: Any) -> str:
    if descriptor.type == _ENUM:
        return str(descriptor.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value)

"""What writes data of one schema: by fastavro, by protobuf, or as JSON."""

import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.avro_values import AvroValues
from barnabas.formats.registered.parsed import avro_schema, protobuf_file
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import header, index_bytes

Write = Callable[[Any], bytes]
"""What JSON says, to data with its header. Raises `ValidationFailed`."""
_MAX_MESSAGES = 500
_FIELD = re.compile(r"^Failed to parse (\S+) field: ")


def writer_of(schema: RegisteredSchema, message: str | None = None) -> Write:
    """`message` is the full name of one in a Protobuf schema, by default the first.

    Raises ValueError for a schema that can't be used.
    """
    match schema.kind:
        case "AVRO":
            return _avro(schema)
        case "PROTOBUF":
            return _protobuf(schema, message)
        case "JSON":
            return lambda value: header(schema.id) + json.dumps(value, ensure_ascii=False).encode()
    raise ValueError(f"schemas of type {schema.kind} are not known here")


def messages_of(schema: RegisteredSchema) -> list[str]:
    """The messages of a Protobuf schema, by their full names; none of others."""
    return [] if schema.kind != "PROTOBUF" else list(_messages(protobuf_file(schema).descriptor))


def _avro(schema: RegisteredSchema) -> Write:
    known = avro_schema(schema)
    values = AvroValues(known.parsed, known.named)
    import fastavro

    def write(value: Any) -> bytes:
        converted = values.convert(value)
        buffer = BytesIO()
        buffer.write(header(schema.id))
        try:
            fastavro.schemaless_writer(buffer, known.parsed, converted)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValidationFailed("", f"does not match the schema: {error}") from None
        return buffer.getvalue()

    return write


def _protobuf(schema: RegisteredSchema, message: str | None) -> Write:
    file, pool = protobuf_file(schema)
    from google.protobuf import json_format, message_factory

    found = _messages(file)
    name = message or next(iter(found), "")
    if name not in found:
        raise ValueError(f"the schema has no message {name!r}")
    indexes, descriptor = found[name]
    kind = message_factory.GetMessageClass(descriptor)
    start = header(schema.id) + index_bytes(indexes)

    def write(value: Any) -> bytes:
        if not isinstance(value, dict):
            raise ValidationFailed("", f"expected an object ({name})")
        try:
            made = json_format.ParseDict(value, kind(), descriptor_pool=pool)
        except (json_format.ParseError, TypeError, ValueError) as error:
            text = str(error)
            field = _FIELD.match(text)
            if field is None:
                raise ValidationFailed("", text) from None
            raise ValidationFailed(field[1], text[field.end() :]) from None
        data: bytes = made.SerializeToString(deterministic=True)
        return start + data

    return write


def _messages(file: Any) -> dict[str, tuple[list[int], Any]]:
    """Messages by their full names, with their place at each level."""

    def below(kinds: Any, path: list[int]) -> Iterator[tuple[str, tuple[list[int], Any]]]:
        for index, each in enumerate(kinds):
            if not each.GetOptions().map_entry:
                yield each.full_name, ([*path, index], each)
                yield from below(each.nested_types, [*path, index])

    return dict(islice(below(file.message_types_by_name.values(), []), _MAX_MESSAGES))

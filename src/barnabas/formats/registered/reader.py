"""What reads data of one schema: by fastavro, by protobuf, or as JSON."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from barnabas.formats.registered.parsed import avro_schema, protobuf_file
from barnabas.formats.registered.schema import RegisteredSchema
from barnabas.formats.registered.wire_format import HEADER, message_indexes

Read = Callable[[bytes], Any]
"""Data with its header to what JSON can say. Raises ValueError."""


def reader_of(schema: RegisteredSchema, max_checked: int | None = None) -> Read:
    """Raises ValueError for a schema that can't be used, and says what is missing.

    `max_checked` limits data that has to be checked first, which takes up to 5 s for a megabyte.
    """
    match schema.kind:
        case "AVRO":
            return _avro(schema, max_checked)
        case "PROTOBUF":
            return _protobuf(schema)
        case "JSON":
            return lambda data: json.loads(data[HEADER:])
    raise ValueError(f"schemas of type {schema.kind} are not known here")


def plain(value: Any) -> Any:
    """What JSON can't say: bytes as hex; times, decimals and UUIDs as text."""
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def _avro(schema: RegisteredSchema, max_checked: int | None) -> Read:
    known = avro_schema(schema)
    parsed, check = known.parsed, known.check
    import fastavro

    def read(data: bytes) -> Any:
        if check is not None:
            if max_checked is not None and len(data) > max_checked:
                raise ValueError(
                    f"of a schema with types that contain themselves, or that have no bytes, at "
                    f"most {max_checked} bytes are read here"
                )
            check(data, HEADER)
        buffer = BytesIO(data)
        buffer.seek(HEADER)
        try:
            found = fastavro.schemaless_reader(buffer, parsed, None)
        except (EOFError, IndexError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(str(error) or "it ends too early") from None
        if buffer.tell() != len(data):
            raise ValueError(f"{len(data) - buffer.tell()} bytes are left")
        return found

    return read


def _protobuf(schema: RegisteredSchema) -> Read:
    file, pool = protobuf_file(schema)
    from google.protobuf import json_format, message_factory
    from google.protobuf.message import DecodeError

    def read(data: bytes) -> Any:
        indexes, at = message_indexes(data)
        try:
            found = list(file.message_types_by_name.values())[indexes[0]]
            for index in indexes[1:]:
                found = found.nested_types[index]
            message = message_factory.GetMessageClass(found).FromString(data[at:])
            return json_format.MessageToDict(
                message, preserving_proto_field_name=True, descriptor_pool=pool
            )
        except (DecodeError, IndexError, TypeError, json_format.Error) as error:
            raise ValueError(str(error)) from None

    return read

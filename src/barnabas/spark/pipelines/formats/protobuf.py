"""Protobuf values as columns, by a message of a descriptor file.

A schema is `PATH:MESSAGE`: a file that `protoc --include_imports --descriptor_set_out=PATH` wrote,
and the full name of a message.
"""

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.protobuf_messages import (
    UnknownMessage,
    message_type,
    schema_of_message,
)


class ProtobufValues:
    """Values that are messages of one type."""

    def __init__(self, schema: str) -> None:
        path, _, name = schema.rpartition(":")
        if not path or not name:
            raise InvalidArgument(
                f"a Protobuf schema is PATH:MESSAGE, such as events.desc:shop.Order, not {schema!r}"
            )
        try:
            files = Path(path).read_bytes()
        except OSError as error:
            raise InvalidArgument(f"the Protobuf descriptors can't be read: {error}") from error
        self._definition = f"{name} {b64encode(files).decode()}"
        try:
            self._type = message_type(self._definition)
            self._fields = schema_of_message(self._type.DESCRIPTOR)
        except (DecodeError, TypeError) as error:
            raise InvalidArgument(
                f"{path} is not a descriptor file ({error}): write it with protoc "
                "--include_imports --descriptor_set_out"
            ) from None
        except UnknownMessage as error:
            raise InvalidArgument(f"{path}: {error}") from None

    @property
    def fields(self) -> StructType:
        return self._fields

    def decoding(self, time_zone: str) -> Decoding:
        return Decoding("protobuf", self._fields, self._definition, time_zone)

    def encode(self, row: Mapping[str, Any]) -> bytes:
        given = {name: _json_value(value) for name, value in row.items()}
        encoded: bytes = ParseDict(given, self._type()).SerializeToString()
        return encoded


def _json_value(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat() if value.tzinfo else f"{value.isoformat()}Z"
        case Mapping():
            return {name: _json_value(each) for name, each in value.items()}
        case list() | tuple():
            return [_json_value(each) for each in value]
    return value

"""Protobuf values as columns: each is one message, without a length before it."""

from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError

from barnabas.formats.arrow.decoded import NO_VALUE
from barnabas.spark.decoding.decoded import Decoded
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.protobuf_messages import message_type, row_converter
from barnabas.spark.decoding.row_columns import columns_of


class ProtobufDecoder:
    """Decodes messages of one type; fields that it does not know are passed over."""

    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding
        self._type = message_type(decoding.definition)
        self._row = row_converter(self._type.DESCRIPTOR)
        self._needs_value = not all(each.nullable for each in decoding.fields.fields)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        rows: list[dict[str, Any] | None] = []
        dead, reasons = [], []
        for index, value in enumerate(values.to_pylist()):
            try:
                rows.append(self._decoded(value))
            except DecodeError as error:
                dead.append(index)
                reasons.append(str(error))
        return Decoded(columns_of(rows, self._decoding), dead, reasons)

    def _decoded(self, value: bytes | None) -> dict[str, Any] | None:
        if value is None:
            if self._needs_value:
                raise DecodeError(NO_VALUE)
            return None
        try:
            message = self._type.FromString(value)
        except DecodeError as error:
            raise DecodeError(f"the value does not fit the schema: {error}") from None
        if not message.IsInitialized():
            missing = ", ".join(message.FindInitializationErrors())
            raise DecodeError(f"{missing} is missing")
        row: dict[str, Any] = self._row(message)
        return row

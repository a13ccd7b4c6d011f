"""Avro values as columns: each is one datum in Avro's binary encoding, without a file's header."""

import io
import json
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from barnabas.formats.avro_bounds import avro_check
from barnabas.spark.decoding.decoded import Decoded
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.json_rows import NO_VALUE
from barnabas.spark.decoding.row_columns import columns_of


class AvroDecoder:
    """Decodes values that were written with one schema, which is that of a record."""

    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding
        named: dict[str, Any] = {}
        self._schema = parse_schema(json.loads(decoding.definition), named)
        self._check = avro_check(self._schema, named)
        self._needs_value = not all(each.nullable for each in decoding.fields.fields)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        rows: list[dict[str, Any] | None] = []
        dead, reasons = [], []
        for index, value in enumerate(values.to_pylist()):
            row, reason = self._row(value)
            if reason is None:
                rows.append(row)
            else:
                dead.append(index)
                reasons.append(reason)
        return Decoded(columns_of(rows, self._decoding), dead, reasons)

    def _row(self, value: bytes | None) -> tuple[dict[str, Any] | None, str | None]:
        if value is None:
            return None, NO_VALUE if self._needs_value else None
        source = io.BytesIO(value)
        try:
            if self._check is not None:
                self._check(value, 0)
            row = schemaless_reader(source, self._schema, None)
        except (ValueError, EOFError, IndexError, KeyError, TypeError, OverflowError) as error:
            return None, f"the value does not fit the schema: {type(error).__name__}: {error}"
        left = len(value) - source.tell()
        if left:
            return None, f"the value does not fit the schema: {left} bytes are left over"
        assert isinstance(row, dict)
        return row, None

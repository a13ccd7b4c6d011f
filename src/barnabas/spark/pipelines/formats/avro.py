"""Avro values as columns, by the writer's schema.

Each value is one datum in Avro's binary encoding, without a file's header.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.formats.arrow.avro_columns import NoColumnError
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroRecord
from barnabas.schemas.schema import InvalidSchemaError
from barnabas.spark.decoding.avro_decoder import spark_fields
from barnabas.spark.decoding.decoding import Decoding


class AvroValues:
    """Values that were written with one schema, which is that of a record."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        try:
            parsed = AvroParser(check_defaults=False).parse(schema)
        except InvalidSchemaError as error:
            raise InvalidArgument(f"the Avro schema can't be used: {error}") from None
        if not isinstance(parsed, AvroRecord):
            raise InvalidArgument("the Avro schema must be a record")
        try:
            self._fields = spark_fields(parsed)
        except NoColumnError as error:
            raise InvalidArgument(f"the Avro schema can't be used: {error}") from None

    @property
    def fields(self) -> StructType:
        return self._fields

    def decoding(self, time_zone: str) -> Decoding:
        return Decoding("avro", self._fields, self._schema, time_zone)

    def encode(self, row: Mapping[str, Any]) -> bytes:
        from fastavro import parse_schema, schemaless_writer

        target = io.BytesIO()
        schemaless_writer(target, parse_schema(json.loads(self._schema)), dict(row))
        return target.getvalue()

"""Avro values as columns, by the writer's schema.

Each value is one datum in Avro's binary encoding, without a file's header.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.errors import InvalidArgument
from barnabas.spark.decoding.decoding import Decoding

_PRIMITIVE: dict[str, DataType] = {
    "string": StringType(),
    "enum": StringType(),
    "bytes": BinaryType(),
    "fixed": BinaryType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
}
_LOGICAL: dict[str, DataType] = {
    "date": DateType(),
    "timestamp-millis": TimestampType(),
    "timestamp-micros": TimestampType(),
}


class AvroValues:
    """Values that were written with one schema, which is that of a record."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        try:
            loaded = json.loads(schema)
        except ValueError as error:
            raise InvalidArgument(f"the Avro schema is not JSON: {error}") from None
        if not isinstance(loaded, dict) or loaded.get("type") != "record":
            raise InvalidArgument("the Avro schema must be a record")
        fields = _spark_type(loaded, {})
        assert isinstance(fields, StructType)
        self._fields = fields

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


def _spark_type(schema: Any, named: dict[str, DataType]) -> DataType:
    """The Spark type for an Avro type."""
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        found = _PRIMITIVE.get(schema) or named.get(schema)
        if found is None:
            raise InvalidArgument(f"the Avro schema has an unknown type {schema!r}")
        return found
    kind = schema["type"]
    logical = schema.get("logicalType")
    if logical == "decimal":
        return DecimalType(schema["precision"], schema.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if logical == "uuid":
        raise InvalidArgument("Avro's logical type uuid has no column type: leave logicalType out")
    if kind == "array":
        return ArrayType(_spark_type(schema["items"], named))
    if kind == "map":
        return MapType(StringType(), _spark_type(schema["values"], named))
    if kind == "record":
        fields = [_field(each, named) for each in schema["fields"]]
        named[schema["name"]] = StructType(fields)
        return named[schema["name"]]
    found = _spark_type(kind, named)
    if kind in ("enum", "fixed"):
        named[schema["name"]] = found
    return found


def _field(schema: Any, named: dict[str, DataType]) -> StructField:
    may_be_null = isinstance(schema["type"], list) and "null" in schema["type"]
    return StructField(schema["name"], _spark_type(schema["type"], named), may_be_null)


def _union(schema: list[Any], named: dict[str, DataType]) -> DataType:
    others = [each for each in schema if each != "null"]
    if len(others) != 1:
        raise InvalidArgument(f"an Avro union must have null and one other type, not {schema}")
    return _spark_type(others[0], named)

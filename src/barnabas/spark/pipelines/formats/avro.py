"""Avro values as columns, by the writer's schema.

Each value is one datum in Avro's binary encoding, without a file's header. Decoding is done by
fastavro in Spark's Python workers, an Arrow batch at a time.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
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
from barnabas.spark.pipelines.formats.value_format import UNDECODABLE

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

    def parsed(self, value: Column) -> Column:
        text = self._schema
        returned = StructType(
            [
                *(StructField(each.name, each.dataType) for each in self._fields.fields),
                StructField(UNDECODABLE, StringType()),
            ]
        )
        arrow_type = to_arrow_type(returned, timezone="UTC")

        def decode(values: pa.Array) -> pa.Array:
            return decode_array(values, text, arrow_type)

        column: Column = arrow_udf(decode, returned)(value)  # type: ignore[call-overload]
        return column

    def reason(self, value: Column, row: Column) -> Column:  # noqa: ARG002 - the row has it
        return F.concat(F.lit("the value does not fit the schema: "), row[UNDECODABLE])

    def encode(self, row: Mapping[str, Any]) -> bytes:
        from fastavro import parse_schema, schemaless_writer

        target = io.BytesIO()
        schemaless_writer(target, parse_schema(json.loads(self._schema)), dict(row))
        return target.getvalue()


def decode_array(values: pa.Array, schema: str, arrow_type: pa.DataType) -> pa.Array:
    """Structs of what the values hold; of those that do not fit, only the reason."""
    from fastavro import parse_schema, schemaless_reader

    parsed = parse_schema(json.loads(schema))
    rows: list[dict[str, Any] | None] = []
    for value in values:
        data = value.as_py()
        if data is None:
            rows.append(None)
            continue
        source = io.BytesIO(data)
        try:
            row = schemaless_reader(source, parsed, None)
        except (ValueError, EOFError, IndexError, KeyError, TypeError, OverflowError) as error:
            rows.append({UNDECODABLE: f"{type(error).__name__}: {error}"})
            continue
        if source.tell() != len(data):
            rows.append({UNDECODABLE: f"{len(data) - source.tell()} bytes are left over"})
        else:
            assert isinstance(row, dict)
            rows.append(row)
    return pa.array(rows, arrow_type)


def _spark_type(schema: Any, named: dict[str, DataType]) -> DataType:
    """The type of Spark's that holds what an Avro type does."""
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
        raise InvalidArgument(f"a union of Avro is of null and one type, not {schema}")
    return _spark_type(others[0], named)

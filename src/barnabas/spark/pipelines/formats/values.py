"""Formats of values by their names."""

from pathlib import Path

from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.value_format import ValueFormat


def value_format(name: str, schema: str | StructType) -> ValueFormat:
    """A format by its name, and what its schema is written in."""
    if name == "json":
        return JsonValues(schema)
    if name == "avro":
        # fastavro is an extra dependency.
        from barnabas.spark.pipelines.formats.avro import AvroValues

        if not isinstance(schema, str):
            raise InvalidArgument(
                "an Avro schema is given as JSON, or as the path of an .avsc file"
            )
        return AvroValues(_avro_text(schema))
    if name == "protobuf":
        from barnabas.spark.pipelines.formats.protobuf import ProtobufValues

        if not isinstance(schema, str):
            raise InvalidArgument("a Protobuf schema is PATH:MESSAGE")
        return ProtobufValues(schema)
    raise InvalidArgument(f"unknown format {name!r}; use json, avro or protobuf")


def _avro_text(schema: str) -> str:
    if schema.lstrip().startswith(("{", '"')):
        return schema
    try:
        return Path(schema).read_text("utf-8")
    except OSError as error:
        raise InvalidArgument(f"the Avro schema can't be read: {error}") from error

"""Avro values as columns of Spark: of one schema, or of those that a registry has."""

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from barnabas.formats.arrow.avro_columns import avro_columns
from barnabas.formats.arrow.avro_decoder import AvroDecoder
from barnabas.formats.arrow.decoded import NO_VALUE, Decoded
from barnabas.formats.arrow.registered_avro import RegisteredAvroDecoder, avro_type
from barnabas.schemas.avro.kept_fields import with_kept_fields
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroType
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.registered_schemas import registry_at, schemas_from


class AvroValuesDecoder:
    """Decodes values that were written with one schema, which is that of a record."""

    def __init__(self, decoding: Decoding) -> None:
        schema = AvroParser(check_defaults=False).parse(decoding.definition)
        self._avro = AvroDecoder(schema, decoding.uses)
        self._number = self._avro.add(schema)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        found = self._avro.decode(values, np.full(len(values), self._number, np.int32))
        reasons = [
            each if each == NO_VALUE else f"the value does not fit the schema: {each}"
            for each in found.reasons
        ]
        return found._replace(reasons=reasons)


def registered_avro_decoder(decoding: Decoding) -> RegisteredAvroDecoder:
    """Decodes values of any version into the columns of those that the pipeline knows."""
    assert decoding.registry is not None
    reader = avro_reader_of(decoding.definition)
    registry = registry_at(decoding.registry)
    return RegisteredAvroDecoder(reader, registry, decoding.uses, is_lenient=True)


def avro_reader_of(definition: str) -> AvroType:
    """The type whose columns a pipeline has: all fields of all versions, as the newest has them.

    Raises `ValidationFailed` and `NoColumnError`.
    """
    found: AvroType | None = None
    for each in schemas_from(definition):
        kind = avro_type(each)
        avro_columns(kind)  # a type that holds itself is refused here
        found = kind if found is None else with_kept_fields(kind, found)
    assert found is not None
    return found


def spark_fields(reader: AvroType, *, is_lenient: bool = False) -> StructType:
    """The columns of a schema. Raises `NoColumnError`."""
    root = avro_columns(reader, is_lenient=is_lenient)
    return from_arrow_schema(pa.schema(list(root.type)), prefer_timestamp_ntz=True)

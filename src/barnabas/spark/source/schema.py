"""The columns of a DataFrame of records, as Spark's Kafka source has them.

A schema that names only some of them makes Spark get only those, and the others are not even
decoded: Spark itself does not tell a Python source which columns a query needs.

Unlike Spark's source, a record without headers has an empty array of them and not NULL, which
Spark would hand to Python code ten times as slowly.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.errors import InvalidArgument
from barnabas.records.columns import schema as columns

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: dict[str, DataType] = {
    columns.KEY: BinaryType(),
    columns.VALUE: BinaryType(),
    columns.TOPIC: StringType(),
    columns.PARTITION: IntegerType(),
    columns.OFFSET: LongType(),
    columns.TIMESTAMP: TimestampType(),
    columns.TIMESTAMP_TYPE: IntegerType(),
    columns.HEADERS: ArrayType(_HEADER),
}


def schema_of(*, headers: bool) -> StructType:
    """All columns; headers only if they are asked for."""
    return StructType(
        [
            StructField(name, of_type)
            for name, of_type in _TYPES.items()
            if headers or name != columns.HEADERS
        ]
    )


def check_schema(schema: StructType) -> None:
    """Raise if a schema has unknown columns or other types."""
    for field in schema.fields:
        of_type = _TYPES.get(field.name)
        if of_type is None:
            raise InvalidArgument(f"unknown column {field.name!r}; use {', '.join(_TYPES)}")
        if not _is_same(field.dataType, of_type):
            raise InvalidArgument(
                f"column {field.name!r} is {of_type.simpleString()}, not "
                f"{field.dataType.simpleString()}: cast it in the query"
            )
    if not schema.fields:
        raise InvalidArgument(f"the schema is empty; use columns of {', '.join(_TYPES)}")


def _is_same(one: DataType, other: DataType) -> bool:
    """Whether types are the same but for what may be null, which nothing here depends on."""
    return one.simpleString() == other.simpleString()


class ArrowForm:
    """Turns tables of records into exactly the record batches that Spark expects."""

    def __init__(self, schema: StructType) -> None:
        self.columns = [field.name for field in schema.fields]
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")

    def batches(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches():
            arrays = [
                array if array.type == field.type else array.cast(field.type)
                for array, field in zip(batch.columns, self._schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

"""Spark's column types as types of PostgreSQL, and values as text for `COPY`."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from barnabas.errors import InvalidArgument

_NAMES: dict[type[DataType], str] = {
    ArrayType: "jsonb",
    BinaryType: "bytea",
    BooleanType: "boolean",
    ByteType: "smallint",
    CharType: "text",
    DateType: "date",
    DoubleType: "double precision",
    FloatType: "real",
    IntegerType: "integer",
    LongType: "bigint",
    MapType: "jsonb",
    ShortType: "smallint",
    StringType: "text",
    StructType: "jsonb",
    TimestampNTZType: "timestamp",
    TimestampType: "timestamptz",
    VarcharType: "text",
}


def type_name(field: StructField) -> str:
    """The PostgreSQL type of a column in a new table."""
    of_type = field.dataType
    if isinstance(of_type, DecimalType):
        return f"numeric({of_type.precision}, {of_type.scale})"
    name = _NAMES.get(type(of_type))
    if name is None:
        raise InvalidArgument(
            f"column {field.name}: PostgreSQL has no type for {of_type.simpleString()}; cast it"
        )
    return name


def as_copied(field: StructField) -> Column:
    """A column whose CSV PostgreSQL can read: converted to text where that is needed."""
    column = F.col(f"`{field.name}`")
    name = type_name(field)
    if name == "jsonb":
        return F.to_json(column, {"ignoreNullFields": "false"})
    if name == "bytea":
        return F.concat(F.lit("\\x"), F.hex(column))
    if name.startswith("numeric"):
        return column.cast("string")
    return column

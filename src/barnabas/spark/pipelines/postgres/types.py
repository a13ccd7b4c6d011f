"""Columns of Spark as PostgreSQL has them, and as text that `COPY` takes."""

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
    """What a new table has for a column."""
    of_type = field.dataType
    if isinstance(of_type, DecimalType):
        return f"numeric({of_type.precision}, {of_type.scale})"
    name = _NAMES.get(type(of_type))
    if name is None:
        raise InvalidArgument(
            f"column {field.name} is of type {of_type.simpleString()}, which PostgreSQL has not: "
            "cast it"
        )
    return name


def as_copied(field: StructField) -> Column:
    """A column as something whose CSV PostgreSQL reads: text, except for what is so already."""
    column = F.col(f"`{field.name}`")
    name = type_name(field)
    if name == "jsonb":
        return F.to_json(column, {"ignoreNullFields": "false"})
    if name == "bytea":
        return F.concat(F.lit("\\x"), F.hex(column))
    if name.startswith("numeric"):
        return column.cast("string")
    return column

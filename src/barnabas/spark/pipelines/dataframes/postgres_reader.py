"""A PostgreSQL table or query as a DataFrame."""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from barnabas.spark.pipelines.postgres.connection import (
    DatabaseError,
    check_driver,
    connected,
    database_reason,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Column

_FETCHED_ROWS = 20_000
_NUMERIC = "numeric"
_MAX_PRECISION = 38


def read_postgres(spark: SparkSession, url: str, query: str) -> DataFrame:
    """The current rows of a query, such as `SELECT * FROM orders`, or of a table by name.

    They pass through the driver as Arrow columns. Types that Spark does not have become strings:
    `uuid`, and JSON, which `from_json` parses.
    """
    import psycopg
    import pyarrow as pa

    check_driver()
    asked = query if " " in query.strip() else f"SELECT * FROM {query}"  # noqa: S608 - the user's
    try:
        with connected(url) as connection, connection.cursor("barnabas") as cursor:
            none = connection.execute(f"SELECT * FROM ({asked}) AS q LIMIT 0")  # noqa: S608
            columns = [(each.name, _arrow_type(each)) for each in none.description or ()]
            names = ", ".join(
                _quoted(name) if known is not None else f"{_quoted(name)}::text"
                for name, known in columns
            )
            cursor.execute(f"SELECT {names} FROM ({asked}) AS q")  # noqa: S608
            schema = pa.schema([(name, known or pa.string()) for name, known in columns])
            batches = []
            while rows := cursor.fetchmany(_FETCHED_ROWS):
                arrays = [
                    pa.array(values, of_type)
                    for values, of_type in zip(zip(*rows, strict=True), schema.types, strict=True)
                ]
                batches.append(pa.record_batch(arrays, schema=schema))
    except psycopg.Error as error:
        raise DatabaseError(f"{query}: {database_reason(error)}") from error
    return spark.createDataFrame(pa.Table.from_batches(batches, schema))


def _arrow_type(column: "Column") -> "pa.DataType | None":
    """The Arrow type of a column; None for a type that becomes text."""
    import pyarrow as pa

    if column.type_display.startswith(_NUMERIC):
        scale = column.scale
        return pa.decimal128(_MAX_PRECISION, 18 if scale is None else scale)
    known = {
        "bool": pa.bool_(),
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "float4": pa.float32(),
        "float8": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", "UTC"),
        "bytea": pa.binary(),
    }
    return known.get(column.type_display)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'

"""SQLite: a file, in Python's standard library.

It has few types. Times are text in UTC, as SQLite's own functions take them; decimals are text, so
that none is rounded; JSON is text.
"""

import sqlite3
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from barnabas.spark.pipelines.databases.dialect import Dialect
from barnabas.spark.pipelines.databases.session import CursorSession, Session

_LOCK_TIMEOUT_S = 60.0


class Sqlite(Dialect):
    """SQLite. A place is a path."""

    name = "SQLite"
    driver = "sqlite3"
    begin = "BEGIN IMMEDIATE"  # nobody else writes from here on
    types: ClassVar[dict[type[t.DataType], str]] = {
        t.ArrayType: "TEXT",
        t.BinaryType: "BLOB",
        t.BooleanType: "INTEGER",
        t.ByteType: "INTEGER",
        t.CharType: "TEXT",
        t.DateType: "TEXT",
        t.DecimalType: "TEXT",
        t.DoubleType: "REAL",
        t.FloatType: "REAL",
        t.IntegerType: "INTEGER",
        t.LongType: "INTEGER",
        t.MapType: "TEXT",
        t.ShortType: "INTEGER",
        t.StringType: "TEXT",
        t.StructType: "TEXT",
        t.TimestampNTZType: "TEXT",
        t.TimestampType: "TEXT",
        t.VarcharType: "TEXT",
    }

    def connect(self, place: str) -> Session:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(place, timeout=_LOCK_TIMEOUT_S, isolation_level=None)
        return CursorSession(connection)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def columns(self, session: Session, table: str) -> list[str]:
        schema, _, name = table.rpartition(".")
        given = (name, schema) if schema else (name,)
        arguments = ", ".join("?" for _ in given)
        found = session.execute(f"SELECT name FROM pragma_table_info({arguments})", given)  # noqa: S608 - question marks
        return [str(row[0]) for row in found]

    def column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        of_type = values.type
        if pa.types.is_timestamp(of_type):
            if of_type.tz is not None:
                values = values.cast(pa.timestamp("us", "UTC"))
            return pc.strftime(values, format="%Y-%m-%d %H:%M:%S")
        if pa.types.is_date(of_type) or pa.types.is_decimal(of_type):
            return values.cast(pa.string())
        return values

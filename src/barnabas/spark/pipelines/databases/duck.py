"""DuckDB: a file, by its own library.

A batch goes in as Arrow columns. While a process has the file open to write, no other can open it;
it is open only while a batch is written.
"""

import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import types as t

from barnabas.spark.pipelines.databases.dialect import Dialect, Target
from barnabas.spark.pipelines.databases.session import Session

_ROWS = "barnabas_rows"
_LOCK_TIMEOUT_S = 60.0
_PAUSE_S = 0.1


class DuckSession:
    """A connection; a cursor of DuckDB would be another one, with a transaction of its own."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(statement, list(values)).fetchall())

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.connection.execute(statement, list(row))

    def close(self) -> None:
        self.connection.close()


class Duck(Dialect):
    """DuckDB. A place is a path."""

    name = "DuckDB"
    driver = "duckdb"
    extra = "duckdb"
    begin = "BEGIN TRANSACTION"
    types: ClassVar[dict[type[t.DataType], str]] = {
        t.ArrayType: "JSON",
        t.BinaryType: "BLOB",
        t.BooleanType: "BOOLEAN",
        t.ByteType: "TINYINT",
        t.CharType: "VARCHAR",
        t.DateType: "DATE",
        t.DecimalType: "DECIMAL({}, {})",
        t.DoubleType: "DOUBLE",
        t.FloatType: "FLOAT",
        t.IntegerType: "INTEGER",
        t.LongType: "BIGINT",
        t.MapType: "JSON",
        t.ShortType: "SMALLINT",
        t.StringType: "VARCHAR",
        t.StructType: "JSON",
        t.TimestampNTZType: "TIMESTAMP",
        t.TimestampType: "TIMESTAMPTZ",
        t.VarcharType: "VARCHAR",
    }

    def connect(self, place: str) -> Session:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        return DuckSession(open_file(place))

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (import_module(self.driver).Error,)

    def columns(self, session: Session, table: str) -> list[str]:
        schema, _, name = table.rpartition(".")
        found = session.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = ? "
            "AND table_schema = ? ORDER BY ordinal_position",
            (name, schema or "main"),
        )
        return [str(row[0]) for row in found]

    def put(self, session: Session, target: Target, rows: pa.Table) -> None:
        assert isinstance(session, DuckSession)
        session.connection.register(_ROWS, rows)
        session.execute(self._insert(target, f"SELECT {self.listed(target.columns)} FROM {_ROWS}"))  # noqa: S608 - quoted
        session.connection.unregister(_ROWS)

    def remove(self, session: Session, target: Target, rows: pa.Table) -> None:
        assert isinstance(session, DuckSession)
        session.connection.register(_ROWS, rows.select(list(target.key)))
        table = self.table_name(target.table)
        same = " AND ".join(
            f"{table}.{each} = {_ROWS}.{each}" for each in map(self.quoted, target.key)
        )
        session.execute(f"DELETE FROM {table} USING {_ROWS} WHERE {same}")  # noqa: S608 - quoted
        session.connection.unregister(_ROWS)


def open_file(path: str, *, read_only: bool = False) -> Any:
    """A connection to a file; one that another process has open is waited for."""
    duckdb: Any = import_module("duckdb")
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            return duckdb.connect(path, read_only=read_only)
        except duckdb.IOException as error:
            if "lock" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)

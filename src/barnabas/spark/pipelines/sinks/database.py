"""Rows in a table of SQLite, DuckDB, MySQL or MariaDB."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.batch_writer import query_of_batch
from barnabas.spark.pipelines.databases.dialect import Dialect
from barnabas.spark.pipelines.databases.duck import Duck
from barnabas.spark.pipelines.databases.keyed_rows import KeyedRows, keys_given
from barnabas.spark.pipelines.databases.mysql import MySql, mysql_arguments
from barnabas.spark.pipelines.databases.sqlite import Sqlite
from barnabas.spark.pipelines.databases.table_writer import TableWriter
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.pipeline_end import resolved_path
from barnabas.spark.pipelines.postgres.connection import shown
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink

_SQLITE, _DUCKDB, _MYSQL = Sqlite(), Duck(), MySql()


@dataclass(frozen=True)
class DatabaseSink(Sink):
    """A table of a database. See `to_sqlite`, `to_duckdb` and `to_mysql`."""

    dialect: Dialect
    place: str = field(repr=False)
    """A path, or a URL, which may have a password."""
    table: str
    rows: KeyedRows = KeyedRows()  # noqa: RUF009 - it can't be changed
    create: bool = False
    evolve: bool = False

    def describe(self) -> str:
        return f"table {self.table} in {shown(self.place)}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return ((self.dialect.driver, f"{shown(self.place)} {self.table}"),)

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append", "update", "complete") if self.rows.key else ("append",)

    def resolved(self, folder: Path) -> Self:
        is_file = not isinstance(self.dialect, MySql)
        return replace(self, place=resolved_path(self.place, folder)) if is_file else self

    def as_version(self, version: str) -> Self:
        return replace(self, table=f"{self.table}_{version}")

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        self.rows.prepared(rows)  # wrong columns are found before anything starts
        for each in self.rows.fields(rows):
            self.dialect.type_name(each, is_key=each.name in self.rows.key)
        return rows.writeStream.foreachBatch(self.write)

    def write(self, rows: DataFrame, number: int) -> None:
        """Write a batch, unless it was written before."""
        fields = self.rows.fields(rows)
        found = self.rows.prepared(rows).toArrow()
        if found.num_rows:
            writer = TableWriter(
                self.dialect, self.place, self.table, self.rows.key, self.create, self.evolve
            )
            writer.write(query_of_batch(rows), number, fields, found)


def to_sqlite(
    path: str,
    table: str,
    *,
    key: str | Sequence[str] | None = None,
    latest_by: str | None = None,
    delete_when: str | None = None,
    create: bool = False,
    evolve: bool = False,
) -> DatabaseSink:
    """Write rows to a table in a SQLite file, exactly once.

    - `path`, `table`: the file, which is created if it does not exist, and its table.
    - `key`: columns of a primary key or unique index: a row replaces the one with its key. Without
      it, rows are appended.
    - `latest_by`: a column or SQL expression; of several rows of a batch with the same key, the one
      with the greatest value is written. Without it, several are an error.
    - `delete_when`: a SQL condition; rows for which it is true delete the row with their key.
    - `create`: create the table if it does not exist.
    - `evolve`: add missing columns to the table.
    """
    return _sink(
        _SQLITE, path, table, KeyedRows(keys_given(key), latest_by, delete_when), create, evolve
    )


def to_duckdb(
    path: str,
    table: str,
    *,
    key: str | Sequence[str] | None = None,
    latest_by: str | None = None,
    delete_when: str | None = None,
    create: bool = False,
    evolve: bool = False,
) -> DatabaseSink:
    """Write rows to a table in a DuckDB file, exactly once.

    - `path`, `table`: the file, which is created if it does not exist, and its table.
    - `key`: columns of a primary key or unique index; without it, rows are appended.
    - `latest_by`: of several rows with the same key, write the one where this is greatest.
    - `delete_when`: a SQL condition; rows for which it is true delete the row with their key.
    - `create`, `evolve`: create a missing table; add missing columns.
    """
    return _sink(
        _DUCKDB, path, table, KeyedRows(keys_given(key), latest_by, delete_when), create, evolve
    )


def to_mysql(
    url: str,
    table: str,
    *,
    key: str | Sequence[str] | None = None,
    latest_by: str | None = None,
    delete_when: str | None = None,
    create: bool = False,
    evolve: bool = False,
) -> DatabaseSink:
    """Write rows to a MySQL or MariaDB table, exactly once.

    - `url`: such as `mysql://user:password@host:3306/database`.
    - `table`: a name, or `database.name`.
    - `key`: columns of a primary key or unique index; without it, rows are appended.
    - `latest_by`: of several rows with the same key, write the one where this is greatest.
    - `delete_when`: a SQL condition; rows for which it is true delete the row with their key.
    - `create`, `evolve`: create a missing table; add missing columns.
    """
    mysql_arguments(url)
    return _sink(
        _MYSQL, url, table, KeyedRows(keys_given(key), latest_by, delete_when), create, evolve
    )


def _sink(
    dialect: Dialect, place: str, table: str, rows: KeyedRows, create: bool, evolve: bool
) -> DatabaseSink:
    dialect.check_driver()
    if not table.strip():
        raise InvalidArgument("table has to be the name of a table")
    return DatabaseSink(dialect, place, table, rows, create, evolve)

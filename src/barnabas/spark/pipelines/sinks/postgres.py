"""Rows in a table of PostgreSQL, by upsert."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.keyed_rows import KeyedRows
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.postgres.connection import check_driver, shown
from barnabas.spark.pipelines.postgres.types import as_copied
from barnabas.spark.pipelines.postgres.upsert import Upsert
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class PostgresSink(Sink):
    """A PostgreSQL table. See `to_postgres`."""

    url: str
    table: str
    key: tuple[str, ...]
    latest_by: str | None = None
    delete_when: str | None = None
    create: bool = False

    @property
    def _rows(self) -> KeyedRows:
        return KeyedRows(self.key, self.latest_by, self.delete_when)

    def describe(self) -> str:
        return f"table {self.table} in {shown(self.url)}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return (("postgres", self.table),)

    def as_version(self, version: str) -> Self:
        return replace(self, table=f"{self.table}_{version}")

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        self._rows.prepared(rows, as_copied)  # finds wrong columns before anything starts
        return rows.writeStream.foreachBatch(self._write)

    def _write(self, rows: DataFrame, _number: int) -> None:
        self.upsert(rows)

    def upsert(self, rows: DataFrame) -> None:
        """Write the rows of a DataFrame that is not a stream."""
        fields = self._rows.fields(rows)
        found = self._rows.prepared(rows, as_copied).toArrow()
        if found.num_rows:
            deletes = self.delete_when is not None
            Upsert(self.url, self.table, self.key, deletes, self.create).run(fields, found)


def to_postgres(
    url: str,
    table: str,
    *,
    key: str | Sequence[str],
    latest_by: str | None = None,
    delete_when: str | None = None,
    create: bool = False,
) -> PostgresSink:
    """Write rows to a PostgreSQL table: a row with an existing key updates the stored row.

    - `url`: such as `postgresql://user@host:5432/database`. Missing parts, such as a password, are
      taken from where PostgreSQL's own tools take them (`PGPASSWORD`, `~/.pgpass`).
    - `key`: the columns of a primary key or unique index.
    - `latest_by`: a column or SQL expression; of several rows of a batch with the same key, the one
      with the greatest value is written. Without it, several are an error.
    - `delete_when`: a SQL condition; rows for which it is true delete the row with their key.
    - `create`: create the table if it does not exist.
    """
    check_driver()
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not keys:
        raise InvalidArgument("to_postgres: key has to name a column, or several")
    return PostgresSink(url, table, keys, latest_by, delete_when, create)

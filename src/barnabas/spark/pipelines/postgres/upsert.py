"""Rows merged into a table of PostgreSQL, in one transaction.

The rows are copied into a temporary table and merged from there, so readers see all of them or
none, and rows that come again after a failure change nothing. They come as Arrow columns and are
copied as CSV that Arrow writes, without a Python object for each row.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import StructField

from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.postgres.connection import (
    DatabaseError,
    connected,
    database_reason,
    shown,
)
from barnabas.spark.pipelines.postgres.types import type_name

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Connection
    from psycopg.sql import Composable, Composed

_BATCH = "barnabas_batch"
_CHUNK_ROWS = 10_000


@dataclass(frozen=True)
class Upsert:
    """How rows are merged into a table."""

    url: str
    table: str
    key: tuple[str, ...]
    deletes: bool
    """Whether the rows have a column `DELETED`."""
    create: bool

    def run(self, fields: Sequence[StructField], rows: "pa.Table") -> None:
        """Merge the rows, whose columns are these fields."""
        with self._explained(), connected(self.url) as connection:
            self._merge(connection, fields, rows)

    def _merge(
        self, connection: "Connection", fields: Sequence[StructField], rows: "pa.Table"
    ) -> None:
        from psycopg import sql

        target = sql.Identifier(*self.table.split("."))
        batch = sql.Identifier(_BATCH)
        columns = _names([each.name for each in fields])
        key = _names(self.key)
        if self.create:
            connection.execute(self._creation(target, fields))
        connection.execute(
            sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} LIMIT 0").format(
                batch, columns, target
            )
        )
        for name in self.key:
            connection.execute(
                sql.SQL("ALTER TABLE {} ALTER {} SET NOT NULL").format(batch, sql.Identifier(name))
            )
        if self.deletes:
            added = sql.SQL("ALTER TABLE {} ADD {} boolean NOT NULL")
            connection.execute(added.format(batch, sql.Identifier(DELETED)))
        with (
            connection.cursor() as cursor,
            cursor.copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(batch)) as copy,
        ):
            for chunk in _csv(rows):
                copy.write(chunk)
        kept: Composable = sql.SQL("")
        if self.deletes:
            deleted = sql.Identifier(DELETED)
            same = sql.SQL("DELETE FROM {} USING {} WHERE {} AND {}")
            pairs = sql.SQL(" AND ").join(
                sql.SQL("{0}.{1} = {2}.{1}").format(target, sql.Identifier(name), batch)
                for name in self.key
            )
            connection.execute(same.format(target, batch, deleted, pairs))
            kept = sql.SQL(" WHERE NOT {}").format(deleted)
        upsert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}{} ON CONFLICT ({}) DO {}")
        others = [each.name for each in fields if each.name not in self.key]
        connection.execute(
            upsert.format(target, columns, columns, batch, kept, key, _update(others))
        )

    def _creation(self, target: "Composable", fields: Sequence[StructField]) -> "Composed":
        from psycopg import sql

        columns = sql.SQL(", ").join(
            sql.SQL("{} {}").format(
                sql.Identifier(each.name),
                sql.SQL(type_name(each)),
            )
            for each in fields
        )
        made = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))")
        return made.format(target, columns, _names(self.key))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add the fix to errors of the database."""
        import psycopg
        from psycopg import errors

        key = ", ".join(self.key)
        try:
            yield
        except errors.UndefinedTable as error:
            raise DatabaseError(
                f"table {self.table} does not exist in {shown(self.url)}: create it, or set "
                "create=True"
            ) from error
        except errors.InvalidColumnReference as error:
            raise DatabaseError(
                f"table {self.table} has no primary key or unique index on ({key}), which upserts "
                f"need: ALTER TABLE {self.table} ADD PRIMARY KEY ({key})"
            ) from error
        except errors.UndefinedColumn as error:
            raise DatabaseError(
                f"table {self.table}: {database_reason(error)}: add it (ALTER TABLE {self.table} "
                "ADD …), or let the pipeline return other columns"
            ) from error
        except errors.NotNullViolation as error:
            is_key = error.diag.table_name == _BATCH
            fix = (
                ": a row without its key can't be written; leave such rows out, as with "
                f"WHERE {error.diag.column_name} IS NOT NULL"
                if is_key
                else ""
            )
            raise DatabaseError(f"table {self.table}: {database_reason(error)}{fix}") from error
        except errors.CardinalityViolation as error:
            raise DatabaseError(
                f"a batch has several rows with the same ({key}) for table {self.table}: choose "
                'the last one with latest_by="record.offset", or with the time of a change'
            ) from error
        except psycopg.Error as error:
            raise DatabaseError(f"table {self.table}: {database_reason(error)}") from error


def _names(names: Sequence[str]) -> "Composed":
    from psycopg import sql

    return sql.SQL(", ").join(sql.Identifier(name) for name in names)


def _update(names: Sequence[str]) -> "Composable":
    from psycopg import sql

    if not names:
        return sql.SQL("NOTHING")
    new = sql.SQL("{0} = EXCLUDED.{0}")
    return sql.SQL("UPDATE SET {}").format(
        sql.SQL(", ").join(new.format(sql.Identifier(name)) for name in names)
    )


def _csv(rows: "pa.Table") -> Iterator[memoryview]:
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False)
    for batch in rows.to_batches(max_chunksize=_CHUNK_ROWS):
        written = io.BytesIO()
        csv.write_csv(batch, written, options)
        yield written.getbuffer()

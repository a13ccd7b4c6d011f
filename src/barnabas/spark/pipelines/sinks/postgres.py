"""Rows into a table of PostgreSQL, by upsert.

A batch is one transaction: its rows are copied into a temporary table and merged from there, so
others see all of it or nothing, and a batch that comes again after a failure changes nothing. Rows
get to the driver as Arrow columns and to the database as CSV that Arrow writes: no Python object is
made of any.
"""

import importlib.util
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructField, StructType

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.postgres_types import as_copied, type_name
from barnabas.spark.pipelines.sinks.topic import OUTPUT_MODES, OutputMode

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Connection
    from psycopg.sql import Composable, Composed

_CONNECT_TIMEOUT_S = 10
_CHUNK_ROWS = 10_000
_BATCH = "barnabas_batch"
_DELETED = "barnabas_deleted"
_RECORD = "record"
_PASSWORD = re.compile(r"(://[^/:@]*):[^@/]*@|(password=)\S+")


class DatabaseError(BarnabasError):
    """The database does not take rows, or can't be reached."""


@dataclass(frozen=True)
class PostgresSink:
    """A table of PostgreSQL. See `to_postgres`."""

    url: str
    table: str
    key: tuple[str, ...]
    latest_by: str | None = None
    delete_when: str | None = None
    create: bool = False

    modes: ClassVar[tuple[OutputMode, ...]] = OUTPUT_MODES
    recovers: ClassVar[bool] = True

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        self._prepared(rows)  # to hear of wrong columns before anything has begun
        return rows.writeStream.foreachBatch(self._write)

    def describe(self) -> str:
        return f"table {self.table} in {shown(self.url)}"

    def _write(self, rows: DataFrame, _number: int) -> None:
        self.upsert(rows)

    def upsert(self, rows: DataFrame) -> None:
        """Write the rows of a DataFrame that is no stream."""
        fields = self._fields(rows)
        found = self._prepared(rows).toArrow()
        if found.num_rows:
            with self._explained(), connected(self.url) as connection:
                self._merge(connection, fields, found)

    # -- rows -------------------------------------------------------------------------------------

    def _fields(self, rows: DataFrame) -> list[StructField]:
        """The columns of the table."""
        fields = [
            each
            for each in rows.schema.fields
            if not (each.name == _RECORD and isinstance(each.dataType, StructType))
        ]
        names = [each.name for each in fields]
        for name in self.key:
            if name not in names:
                raise InvalidArgument(f"there is no column {name!r} for the key, but {names}")
        return fields

    def _prepared(self, rows: DataFrame) -> DataFrame:
        """One row for each key, and its columns as they are copied."""
        columns = [as_copied(each).alias(each.name) for each in self._fields(rows)]
        if self.delete_when is not None:
            deleted = F.coalesce(F.expr(self.delete_when), F.lit(False))
            columns.append(deleted.alias(_DELETED))
        if self.latest_by is None:
            return rows.select(*columns)
        key = [F.col(f"`{name}`") for name in self.key]
        by = F.struct(F.expr(self.latest_by))  # in a struct, NULL comes before all others
        latest = rows.groupBy(*key).agg(F.max_by(F.struct(*columns), by).alias("row"))
        return latest.select("row.*")

    # -- the database -----------------------------------------------------------------------------

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
        if self.delete_when is not None:
            added = sql.SQL("ALTER TABLE {} ADD {} boolean NOT NULL")
            connection.execute(added.format(batch, sql.Identifier(_DELETED)))
        with (
            connection.cursor() as cursor,
            cursor.copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(batch)) as copy,
        ):
            for chunk in _csv(rows):
                copy.write(chunk)
        kept: Composable = sql.SQL("")
        if self.delete_when is not None:
            deleted = sql.Identifier(_DELETED)
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
        """Say what to do about what the database says."""
        import psycopg
        from psycopg import errors

        key = ", ".join(self.key)
        try:
            yield
        except errors.UndefinedTable as error:
            raise DatabaseError(
                f"there is no table {self.table} in {shown(self.url)}: create it, or let it be "
                "created with create=True"
            ) from error
        except errors.InvalidColumnReference as error:
            raise DatabaseError(
                f"table {self.table} has no primary key or unique index on ({key}), which upserts "
                f"need: ALTER TABLE {self.table} ADD PRIMARY KEY ({key})"
            ) from error
        except errors.UndefinedColumn as error:
            raise DatabaseError(
                f"table {self.table}: {first_line(error)}: add it (ALTER TABLE {self.table} "
                "ADD …), or let the pipeline return other columns"
            ) from error
        except errors.NotNullViolation as error:
            raise DatabaseError(
                f"table {self.table}: {first_line(error)}: a row without its key can't be written"
                if error.diag.table_name == _BATCH
                else f"table {self.table}: {first_line(error)}"
            ) from error
        except errors.CardinalityViolation as error:
            raise DatabaseError(
                f"a batch has several rows with the same ({key}) for table {self.table}: say which "
                'one is the last, as latest_by="record.offset" or the time of a change'
            ) from error
        except psycopg.Error as error:
            raise DatabaseError(f"table {self.table}: {first_line(error)}") from error


@contextmanager
def connected(url: str) -> "Iterator[Connection]":
    """A connection, whose changes count if nothing is raised."""
    import psycopg

    defaults: dict[str, Any] = {"application_name": "barnabas"}
    if "connect_timeout" not in url:
        defaults["connect_timeout"] = _CONNECT_TIMEOUT_S
    try:
        connection = psycopg.connect(url, **defaults)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(
            f"{shown(url)} is no address of a PostgreSQL, as postgresql://user@host:5432/database: "
            f"{first_line(error)}"
        ) from None
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"can't get into {shown(url)}: {first_line(error)} (does it run, and is the address "
            "right?)"
        ) from error
    with connection:
        yield connection


def to_postgres(
    url: str,
    table: str,
    *,
    key: str | Sequence[str],
    latest_by: str | None = None,
    delete_when: str | None = None,
    create: bool = False,
) -> PostgresSink:
    """Write rows to a table of PostgreSQL: one that has the key of a row is updated.

    - `url`: as `postgresql://user@host:5432/database`. What it leaves out, as a password, comes
      from where PostgreSQL's own tools have it (`PGPASSWORD`, `~/.pgpass`).
    - `key`: the columns of a primary key or unique index.
    - `latest_by`: which one counts of several rows of a batch with the same key: that where this
      column, or expression in SQL, is greatest. Without it, several are an error.
    - `delete_when`: a condition in SQL: rows for which it holds delete the one with their key.
    - `create`: make the table if there is none.
    """
    check_driver()
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not keys:
        raise InvalidArgument("to_postgres: key has to name a column, or several")
    return PostgresSink(url, table, keys, latest_by, delete_when, create)


def check_driver() -> None:
    """Say what to install if it is missing."""
    if importlib.util.find_spec("psycopg") is None:
        raise InvalidArgument("PostgreSQL needs psycopg: pip install 'barnabas[postgres]'")


def shown(url: str) -> str:
    """An address without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1]}@" if found[1] else f"{found[2]}***", url)


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


def first_line(error: Exception) -> str:
    """What an error says first, and where in a row it was."""
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    where = [each.removeprefix("CONTEXT:").strip() for each in lines[1:] if "column" in each]
    return "; ".join([*lines[:1], *where[:1]])

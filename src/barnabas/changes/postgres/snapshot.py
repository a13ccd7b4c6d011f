"""The rows that were there before the first change: a table at a time, in chunks by primary key.

A chunk is all rows after one key, up to another. While the process that created the slot lives, its
chunks are read from the snapshot that was exported with the slot: together they are the database as
it was where the log starts. After a restart that snapshot is gone, and the chunks that are left are
read as the rows are then. Some of their changes follow in the log once more, in order: applied by
key, all of them together give the same rows in the end.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.changes.postgres.catalog import Table
from barnabas.changes.postgres.pgoutput import Relation
from barnabas.changes.rows import Row
from barnabas.changes.snapshot_position import SnapshotPosition

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composable

_ROW_ADDRESS = "ctid"
_XID = 0xFFFF_FFFF
_XID_HALF = 1 << 31
_SOON_S = 0.005


def next_chunk(
    connection: "Connection[Any]", table: Table | None, rest: SnapshotPosition, rows: int
) -> SnapshotPosition | None:
    """What is left after a chunk of so many rows; `table` is None if it was dropped."""
    from psycopg import sql

    end = None
    order = () if table is None else _order(table)
    if table is not None and order:
        # With the table's name: a bare one would be that of the text, which sorts otherwise.
        names = [sql.Identifier(table.schema, table.name, each) for each in order]
        texts = sql.SQL(", ").join(sql.SQL("{}::text").format(each) for each in names)
        with reading(connection, rest.name, table):
            end = connection.execute(
                sql.SQL("SELECT {} FROM {}{} ORDER BY {} OFFSET {} LIMIT 1").format(
                    texts,
                    _source(table),
                    _where(table, rest.after, None),
                    sql.SQL(", ").join(names),
                    sql.Literal(rows - 1),
                )
            ).fetchone()
    if end is not None:
        return rest._replace(after=tuple(end))
    left = rest.tables[1:]
    return rest._replace(tables=left, after=None) if left else None


def rows_of(
    connection: "Connection[Any]",
    table: Table,
    relation: Relation,
    after: Sequence[str] | None,
    until: Sequence[str] | None,
) -> Iterator[Row]:
    """Rows of a table, as texts, in the order of their key."""
    from psycopg import sql

    order = _order(table)
    columns = sql.SQL(", ").join(sql.Identifier(each.name) for each in relation.columns)
    query = sql.SQL("COPY (SELECT {} FROM {}{}{}) TO STDOUT").format(
        columns,
        _source(table),
        _where(table, after, until),
        sql.SQL(" ORDER BY {}").format(sql.SQL(", ").join(map(sql.Identifier, order)))
        if order
        else sql.SQL(""),
    )
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        yield from copy.rows()


@contextmanager
def reading_after(
    connection: "Connection[Any]", table: Table, transaction_ids: Collection[int]
) -> Iterator[None]:
    """A transaction on the present that sees all of these, which have committed.

    A commit is in the log a moment before others see it, with a synchronous standby even longer.
    """
    while True:
        with reading(connection, None, table):
            row = connection.execute(
                "SELECT pg_snapshot_xmax(s)::text, "
                "ARRAY(SELECT x::text FROM pg_snapshot_xip(s) x) FROM pg_current_snapshot() s"
            ).fetchone()
            assert row is not None
            if not _hidden(int(row[0]), {int(each) & _XID for each in row[1]}, transaction_ids):
                yield
                return
        time.sleep(_SOON_S)


def _hidden(xmax: int, running: Collection[int], transaction_ids: Collection[int]) -> bool:
    """Whether a snapshot does not see one of these; numbers wrap around at 32 bits."""
    return any(each in running or (each - xmax) & _XID < _XID_HALF for each in transaction_ids)


@contextmanager
def reading(connection: "Connection[Any]", snapshot: str | None, table: Table) -> Iterator[None]:
    """A transaction on the exported snapshot, or on the present if that is gone."""
    from psycopg import errors, sql

    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    connection.execute(begin)
    try:
        if snapshot is not None:
            try:
                connection.execute(
                    sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot))
                )
            except (errors.InvalidParameterValue, errors.UndefinedObject):
                connection.execute("ROLLBACK")
                connection.execute(begin)
        if table.key_schemas:
            schemas = ", ".join(table.key_schemas)
            connection.execute("SELECT set_config('search_path', %s, true)", (schemas,))
        yield
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _order(table: Table) -> tuple[str, ...]:
    """The columns by which a table is cut into chunks; none if it can't be cut."""
    if table.primary_key:
        return table.primary_key
    return () if table.is_partitioned else (_ROW_ADDRESS,)


def _source(table: Table) -> "Composable":
    from psycopg import sql

    only = sql.SQL("" if table.is_partitioned else "ONLY ")
    return only + sql.Identifier(table.schema, table.name)


def _where(table: Table, after: Sequence[str] | None, until: Sequence[str] | None) -> "Composable":
    from psycopg import sql

    names = sql.SQL(", ").join(map(sql.Identifier, _order(table)))
    types = table.key_types or ("tid",)
    conditions = [
        sql.SQL("({}) {} ({})").format(
            names,
            sql.SQL(sign),
            sql.SQL(", ").join(
                sql.SQL("{}::{}").format(sql.Literal(value), sql.SQL(of))
                for value, of in zip(key, types, strict=True)
            ),
        )
        for sign, key in ((">", after), ("<=", until))
        if key is not None
    ]
    if not conditions:
        return sql.SQL("")
    return sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions)

"""The rows that were there before the first change: a table at a time, in chunks by primary key.

A chunk is all rows after one key, up to another. The process that began reads them in one
transaction, which sees the database as it was where the log starts. Others (after a restart, and
tasks of Spark) read them as they are then: changes since the beginning follow in the log once
more, in order. A reader that applies all of them by key gets the same rows in the end.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from barnabas.changes.mysql.catalog import CatalogTable, quoted_name
from barnabas.changes.mysql.column_type import BYTES, INTEGERS
from barnabas.changes.mysql.connection import Connection, driver, rows
from barnabas.changes.mysql.position import BinlogPosition
from barnabas.changes.mysql.row_values import float_text
from barnabas.changes.mysql.server_checks import is_mariadb, log_end
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.changes.mysql.table_layout import CatalogColumn
from barnabas.changes.rows import Row
from barnabas.changes.snapshot_position import SnapshotPosition

_FETCH_ROWS: Final = 1_000
_TABLE_CHANGED: Final = 1412
_NO_COLUMN: Final = 1054


class TableAltered(Exception):  # noqa: N818 - its name says what happened
    """A column is gone since the table was looked up; no row was read."""


def begin_snapshot(connection: Connection, settings: MySqlSettings) -> BinlogPosition:
    """Start a transaction that sees the database as it is at a position of the log."""
    rows(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    if is_mariadb(connection):
        rows(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        found = dict(rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%%'"))
        return BinlogPosition(
            str(found["Binlog_snapshot_file"]), int(found["Binlog_snapshot_position"])
        )
    rows(connection, "FLUSH TABLES WITH READ LOCK")
    try:
        rows(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return log_end(connection, settings)
    finally:
        rows(connection, "UNLOCK TABLES")


def still_sees(connection: Connection, table: CatalogTable) -> bool:
    """Whether a snapshot has a table: not once it was altered or truncated."""
    try:
        rows(connection, f"SELECT 1 FROM {_escaped(table.quoted_name)} LIMIT 1", [])  # noqa: S608 - quoted
    except driver().MySQLError as error:
        if error.args[:1] != (_TABLE_CHANGED,):
            raise
        return False
    return True


def next_chunk(
    connection: Connection, table: CatalogTable | None, rest: SnapshotPosition, count: int
) -> SnapshotPosition | None:
    """What is left after a chunk of so many rows; `table` is None if it was dropped."""
    if table is not None and table.cut_by:
        names = ", ".join(_escaped(quoted_name(each.name)) for each in table.cut_by)
        condition, given = _where(table, rest.after, None)
        found = rows(
            connection,
            f"SELECT {names} FROM {_escaped(table.quoted_name)}{condition} ORDER BY {names} "  # noqa: S608 - quoted
            f"LIMIT 1 OFFSET {count - 1}",
            given,
        )
        if found:
            return rest._replace(after=tuple(_text(value) or "" for value in found[0]))
    left = rest.tables[1:]
    return rest._replace(tables=left, after=None) if left else None


def rows_of(
    connection: Connection,
    table: CatalogTable,
    after: Sequence[str] | None,
    until: Sequence[str] | None,
) -> Iterator[Row]:
    """Rows of a table, as texts, in the order of their key."""
    columns = ", ".join(map(_selected, table.columns))
    condition, given = _where(table, after, until)
    order = ", ".join(_escaped(quoted_name(each.name)) for each in table.cut_by)
    query = (
        f"SELECT {columns} FROM {_escaped(table.quoted_name)}{condition}"  # noqa: S608 - quoted
        f"{' ORDER BY ' + order if order else ''}"
    )
    floats = [at for at, each in enumerate(table.columns) if each.type.name == "float"]
    with connection.cursor(driver().cursors.SSCursor) as cursor:
        try:
            cursor.execute(query, given)
        except driver().MySQLError as error:
            if error.args[:1] == (_NO_COLUMN,):
                raise TableAltered from error
            raise
        while found := cursor.fetchmany(_FETCH_ROWS):
            for row in found:
                values = [_text(each) for each in row]
                for at in floats:
                    value = values[at]
                    values[at] = None if value is None else float_text(float(value))
                yield tuple(values)


def _text(value: Any) -> str | None:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _escaped(name: str) -> str:
    """For the driver, which looks for its parameters."""
    return name.replace("%", "%%")


def _selected(column: CatalogColumn) -> str:
    name = _escaped(quoted_name(column.name))
    # The server shows a FLOAT with six digits; as a DOUBLE, with all of them.
    return f"{name} + 0e0" if column.type.name == "float" else name


def _where(
    table: CatalogTable, after: Sequence[str] | None, until: Sequence[str] | None
) -> tuple[str, list[Any]]:
    """Rows after one key and up to another.

    The condition is spelled out, since the server uses no index to compare several columns at once.
    """
    parts, given = [], []
    for sign, last, key in ((">", ">", after), ("<", "<=", until)):
        if key is None:
            continue
        names = [_escaped(quoted_name(each.name)) for each in table.cut_by]
        values = [_given(each, text) for each, text in zip(table.cut_by, key, strict=True)]
        choices = []
        for at in range(len(names)):
            equal = [f"{name} = %s" for name in names[:at]]
            compared = f"{names[at]} {last if at == len(names) - 1 else sign} %s"
            choices.append(" AND ".join([*equal, compared]))
            given += values[: at + 1]
        parts.append(f"({' OR '.join(choices)})")
        if len(names) > 1:
            parts.append(f"{names[0]} {sign}= %s")
            given.append(values[0])
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), given


def _given(column: CatalogColumn, text: str) -> Any:
    """A value of a key: as a text, a number would be compared as a float."""
    if column.type.name in INTEGERS or column.type.name == "year":
        return int(text)
    if column.type.name == "decimal":
        return Decimal(text)
    return text.encode("latin-1") if column.type.name in BYTES else text

"""What incremental snapshots need of a MySQL or MariaDB: its table of signals, and its tables.

    CREATE TABLE debezium_signal (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data TEXT);

A transaction is in the log a moment before others see it, so rows that are read behind a position
of the log might be older than that. Transactions become visible in the order of the log. So a
watermark is written to the table of signals first, and when it is committed, all before it are
visible. Nothing of it stays in the table.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Final

from barnabas.changes.errors import ChangesError
from barnabas.changes.mysql.catalog import CatalogTable, quoted_name, table_of, tables_of
from barnabas.changes.mysql.connection import Connection, driver, explained, rows
from barnabas.changes.mysql.position import BinlogPosition
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.changes.mysql.snapshot import next_chunk
from barnabas.changes.signals import Signal, SignalledTable
from barnabas.changes.snapshot_position import SnapshotPosition

_NO_TABLE: Final = (1146, 1054)
"""Numbers of errors: a table or a column that there is not."""
_WATERMARK: Final = "snapshot-window-close"


class MySqlSignals:
    """`SignalledDatabase` of a MySQL or MariaDB."""

    def __init__(self, settings: MySqlSettings, connected: Callable[[], Connection]) -> None:
        self._settings = settings
        self._connected = connected

    def pending_signals(self) -> Sequence[Signal]:
        """Those that are in the table, in the order of their ids."""
        settings, name = self._settings, self._settings.signal_table
        if not name:
            return []
        query = f"SELECT id, type, coalesce(data, '') FROM {self._table} ORDER BY id"  # noqa: S608 - quoted
        try:
            with explained(settings, f"can't read signals from {name}"):
                found = rows(self._connected(), query, ())
        except ChangesError as error:
            cause = error.__cause__
            if not (isinstance(cause, driver().MySQLError) and cause.args[0] in _NO_TABLE):
                raise
            raise ChangesError(
                f"signal.data.collection={name} is not a table of signals: CREATE TABLE {name} "
                "(id VARCHAR(64) PRIMARY KEY, type VARCHAR(32) NOT NULL, data TEXT)"
            ) from error
        return [Signal(*(_text(each) for each in row)) for row in found]

    def delete_signals(self, ids: Sequence[str]) -> None:
        """Forget signals that were taken."""
        marks = ", ".join(["%s"] * len(ids))
        with explained(self._settings, f"can't delete signals from {self._settings.signal_table}"):
            rows(
                self._connected(),
                f"DELETE FROM {self._table} WHERE id IN ({marks})",  # noqa: S608 - quoted
                list(ids),
            )

    def signalled_tables(self) -> Sequence[SignalledTable]:
        """The tables of the stream."""
        with explained(self._settings, "can't look at the tables"):
            found = tables_of(self._connected(), self._settings.tables)
        names = [(f"{each.database}.{each.name}", bool(each.key)) for each in found]
        return [SignalledTable(name, name, has_key) for name, has_key in names]

    def rows_lsn(self, start: BinlogPosition) -> int:
        """The position itself: what commits later is behind it in the log."""
        return start.lsn

    def next_chunk(self, rest: SnapshotPosition) -> SnapshotPosition | None:
        """What is left after the next chunk."""
        name = rest.tables[0]
        with explained(self._settings, f"can't read table {name}"):
            connection = self._connected()
            table = named_table(connection, name)
            return next_chunk(connection, table, rest, self._settings.incremental_rows)

    def write_watermark(self) -> None:
        """Return when all that is in the log by now is visible."""
        name = self._settings.signal_table
        given = (f"watermark-{secrets.token_hex(8)}", _WATERMARK)
        with explained(
            self._settings, f"can't write to {name} (GRANT SELECT, INSERT, DELETE ON {name})"
        ):
            connection = self._connected()
            rows(connection, "START TRANSACTION")
            try:
                rows(connection, f"INSERT INTO {self._table} (id, type) VALUES (%s, %s)", given)  # noqa: S608 - quoted
                rows(connection, f"DELETE FROM {self._table} WHERE id = %s", given[:1])  # noqa: S608 - quoted
                rows(connection, "COMMIT")
            except BaseException:
                connection._force_close()
                raise

    @property
    def _table(self) -> str:
        database, _, name = self._settings.signal_table.partition(".")
        return f"{quoted_name(database)}.{quoted_name(name)}".replace("%", "%%")


def named_table(connection: Connection, full_name: str) -> CatalogTable | None:
    """The table of a position; None if it was dropped."""
    database, _, name = full_name.partition(".")
    return table_of(connection, database, name)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

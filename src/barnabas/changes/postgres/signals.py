"""What incremental snapshots need of a PostgreSQL: its table of signals, and its tables."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.changes.errors import ChangesError
from barnabas.changes.postgres import slot
from barnabas.changes.postgres.catalog import table_named, tables_of
from barnabas.changes.postgres.connection import explained
from barnabas.changes.postgres.position import ChangePosition
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.changes.postgres.snapshot import next_chunk
from barnabas.changes.signals import Signal, SignalledTable
from barnabas.changes.snapshot_position import SnapshotPosition

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Identifier


class PostgresSignals:
    """`SignalledDatabase` of a PostgreSQL."""

    def __init__(
        self, settings: ChangeSettings, connected: "Callable[[], Connection[Any]]"
    ) -> None:
        self._settings = settings
        self._connected = connected

    def pending_signals(self) -> Sequence[Signal]:
        """Those that are in the table, in the order in which they were written, about."""
        from psycopg import errors, sql

        settings, name = self._settings, self._settings.signal_table
        if not name:
            return []
        query = sql.SQL(
            "SELECT id::text, type::text, coalesce(data::text, '') FROM {} ORDER BY ctid"
        )
        try:
            with explained(settings, f"can't read signals from {name}"):
                found = self._connected().execute(query.format(self._table))
                return [Signal(*row) for row in found]
        except ChangesError as error:
            if not isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedColumn):
                raise
            raise ChangesError(
                f"signal.data.collection={name} is not a table of signals: CREATE TABLE {name} "
                "(id text PRIMARY KEY, type text NOT NULL, data text)"
            ) from error

    def delete_signals(self, ids: Sequence[str]) -> None:
        """Forget signals that were taken."""
        from psycopg import sql

        with explained(self._settings, f"can't delete signals from {self._settings.signal_table}"):
            self._connected().execute(
                sql.SQL("DELETE FROM {} WHERE id::text = ANY (%s)").format(self._table),
                (list(ids),),
            )

    def signalled_tables(self) -> Sequence[SignalledTable]:
        """The tables of the stream."""
        found = tables_of(self._connected(), self._settings.tables)
        return [
            SignalledTable(each.quoted_name, f"{each.schema}.{each.name}", bool(each.primary_key))
            for each in found
        ]

    def rows_lsn(self, start: ChangePosition) -> int:
        """Before all changes of transactions that the slot still has to send."""
        return slot.checked_slot(self._connected(), self._settings, start.lsn).restart_lsn

    def next_chunk(self, rest: SnapshotPosition) -> SnapshotPosition | None:
        """What is left after the next chunk."""
        return next_chunk_of(
            self._connected(), self._settings, rest, self._settings.incremental_rows
        )

    @property
    def _table(self) -> "Identifier":
        from psycopg import sql

        return sql.Identifier(*self._settings.signal_table.split(".", 1))


def next_chunk_of(
    connection: "Connection[Any]", settings: ChangeSettings, rest: SnapshotPosition, rows: int
) -> SnapshotPosition | None:
    """What is left after a chunk of so many rows."""
    name = rest.tables[0]
    with explained(settings, f"can't read table {name}"):
        return next_chunk(connection, table_named(connection, settings.tables, name), rest, rows)

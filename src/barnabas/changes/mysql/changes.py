"""The changes of a server as a source that can be read again: positions, and what is between.

    changes = MySqlChanges(settings)
    position = changes.initial()
    while True:
        end = changes.latest(position)
        for event in changes.read(position, end): ...
        save(end); position = end              # in one transaction with what was made of it

`read` between the same two positions gives the same events, as often as it is asked, in any process
and for as long as the server keeps its log.
"""

import logging
import secrets
import time
from collections.abc import Iterator
from typing import Final, Self

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.incremental import IncrementalSnapshots, has_chunk
from barnabas.changes.json_values import quoted
from barnabas.changes.mysql.binlog_events import ends_transaction
from barnabas.changes.mysql.binlog_stream import events_from
from barnabas.changes.mysql.catalog import (
    CatalogTable,
    charsets_of,
    check_tables,
    table_of,
    tables_of,
)
from barnabas.changes.mysql.connection import Connection, connect, explained, is_open
from barnabas.changes.mysql.events import Event, EventAssembler, FollowedTable
from barnabas.changes.mysql.position import BinlogPosition, number_of
from barnabas.changes.mysql.server_checks import (
    check_not_purged,
    check_server,
    log_end,
    variables,
)
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.changes.mysql.signals import MySqlSignals, named_table
from barnabas.changes.mysql.snapshot import (
    TableAltered,
    begin_snapshot,
    next_chunk,
    rows_of,
    still_sees,
)
from barnabas.changes.mysql.table_layout import layout_of
from barnabas.changes.mysql.table_map import TableMap
from barnabas.changes.mysql.table_shape import shape_of
from barnabas.changes.rows import Row
from barnabas.changes.snapshot_position import SnapshotPosition, chunk_end, chunks
from barnabas.changes.table_shape import TableShape

_log = logging.getLogger(__name__)

_LEAST_CHANGE_BYTES: Final = 6
"""A change takes at least so much of the log: less log than that has fewer changes."""
_ATTEMPTS: Final = 10
_PATIENCE_S: Final = 30.0
"""How long the end of the log may take to be on disk, before which it is not sent."""


class MySqlChanges:
    """A stream of changes. One thread at a time may use it.

    With `keep_snapshot`, all chunks that this process reads are of one moment; the transaction that
    this takes stays open until they are read.
    """

    def __init__(self, settings: MySqlSettings, *, keep_snapshot: bool = True) -> None:
        self._settings = settings
        self._keeps_snapshot = keep_snapshot
        self._connection: Connection | None = None
        self._snapshot: tuple[str, Connection] | None = None
        self._tables: dict[tuple[str, str], CatalogTable | None] = {}
        self._charsets: dict[int, str] | None = None
        self._is_checked = False
        self._signals = MySqlSignals(settings, self._connected)
        self._incremental = IncrementalSnapshots(self._signals)

    # -- positions ------------------------------------------------------------------------------

    def initial(self) -> BinlogPosition:
        """Where a new stream starts."""
        settings = self._settings
        tables = self._prepared()
        if settings.snapshot_mode == "no_data":
            return log_end(self._connected(), settings)
        self.close_snapshot()
        connection = connect(settings)
        try:
            with explained(settings, "can't begin a snapshot"):
                start = begin_snapshot(connection, settings)
        except BaseException:
            connection.close()
            raise
        name = None
        if self._keeps_snapshot:
            name = secrets.token_hex(8)
            self._snapshot = name, connection
        else:
            connection.close()
        names = tuple(f"{each.database}.{each.name}" for each in tables)
        return start._replace(snapshot=SnapshotPosition(name, time.time_ns() // 1000, names, None))

    def latest(self, start: BinlogPosition, max_changes: int | None = None) -> BinlogPosition:
        """Up to where can be read now; about `max_changes` at a time, and transactions whole."""
        if not self._is_checked:
            self._prepared()
        if start.snapshot is not None:
            name = start.snapshot.tables[0]
            with explained(self._settings, f"can't read table {name}"):
                table = named_table(self._connected(), name)
                connection = self._of_snapshot(start.snapshot, table)
                rows = self._settings.snapshot_rows
                return start._replace(snapshot=next_chunk(connection, table, start.snapshot, rows))
        self.close_snapshot()
        if self._settings.snapshot_mode == "initial_only":
            return start
        end = self.end(start)
        is_short = end.file == start.file and (
            max_changes is None or end.pos - start.pos < max_changes * _LEAST_CHANGE_BYTES
        )
        if max_changes is not None and not is_short:
            end = self._limited(start, end, max_changes)
        state, signals = self._incremental.next(start)
        return end._replace(incremental=state, signals=signals)

    def end(self, start: BinlogPosition) -> BinlogPosition:
        """Where the log ends now."""
        connection = self._connected()
        check_not_purged(connection, self._settings, start)
        end = log_end(connection, self._settings)
        return end if end.lsn > start.lsn else start._replace(snapshot=None)

    def has_log_after(self, position: BinlogPosition) -> bool:
        """Whether something was written since."""
        return log_end(self._connected(), self._settings).lsn > position.lsn

    def commit(self, position: BinlogPosition) -> None:
        """Everything before this position is processed: signals that were followed can go.

        The log is not concerned: the server removes it by time, also before it is read.
        """
        self._incremental.commit(position)

    # -- reading --------------------------------------------------------------------------------

    def read(self, start: BinlogPosition, end: BinlogPosition) -> Iterator[Event]:
        """The events from one position to the other, in the order of commits."""
        if start.snapshot is not None:
            yield from self._rows(start, start.snapshot, end.snapshot, start.lsn)
        if end.snapshot is None and end.lsn > start.lsn:
            check_not_purged(self._connected(), self._settings, start)
            yield from self._changes(start, end)
        again = start.incremental
        if again is not None and has_chunk(start, end) and not again.is_paused:
            self._signals.write_watermark()
            last = None if end.incremental is None else end.incremental.rest
            yield from self._rows(start, again.rest, last, again.lsn, is_incremental=True)

    def _rows(
        self,
        start: BinlogPosition,
        first: SnapshotPosition,
        last: SnapshotPosition | None,
        lsn: int,
        *,
        is_incremental: bool = False,
    ) -> Iterator[Event]:
        """The rows of tables between two positions of a snapshot."""
        settings = self._settings
        place = (
            f'"server_id":0,"gtid":null,"file":{quoted(start.file)},"pos":{start.pos},"row":0,'
            '"thread":null,"query":null'
        )
        for part in chunks(first, last):
            name = part.tables[0]
            until = chunk_end(part, last)
            with explained(settings, f"can't read table {name}"):
                for shape, number, row in self._chunk(part, until):
                    yield Change(
                        "r",
                        shape,
                        lsn,
                        part.time_us,
                        None,
                        row,
                        None,
                        number,
                        number,
                        is_incremental=is_incremental,
                        place=place,
                    )

    def _chunk(
        self, part: SnapshotPosition, until: tuple[str, ...] | None
    ) -> Iterator[tuple[TableShape, int, Row]]:
        """The rows of a chunk, numbered, with the shape of their table."""
        for attempt in range(_ATTEMPTS):
            table = named_table(self._connected(), part.tables[0])
            if table is None:
                _log.warning("table %s was dropped before its snapshot was read", part.tables[0])
                return
            shape = self._shape(table)
            found = rows_of(self._of_snapshot(part, table), table, part.after, until)
            try:
                for number, row in enumerate(found, 1):
                    yield shape, number, row
            except TableAltered:
                if attempt == _ATTEMPTS - 1:
                    raise ChangesError(
                        f"table {part.tables[0]} is altered again and again, and can't be read"
                    ) from None
                continue
            return

    def _changes(self, start: BinlogPosition, end: BinlogPosition) -> Iterator[Event]:
        position, until = start, end.lsn
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            assembler = self._assembler()
            for event in events_from(self._settings, position):
                at = number_of(event.file, event.start)
                if assembler.is_between_transactions and at >= until:
                    return
                yield from assembler.events(event)
                if assembler.is_between_transactions:
                    position = BinlogPosition(event.file, event.end)
                    if position.lsn >= until:
                        return
            # What is not on the server's disk yet is not sent.
            if time.monotonic() > deadline:
                raise ChangesError(
                    f"the server sends its log up to {position.file}:{position.pos} only, and says "
                    f"that it ends at {end.file}:{end.pos}: is its disk full?"
                )
            time.sleep(0.02)

    def _limited(
        self, start: BinlogPosition, end: BinlogPosition, max_changes: int
    ) -> BinlogPosition:
        """The end of a transaction, with which there are about so many changes or more."""
        assembler = self._assembler()
        count = 0
        for event in events_from(self._settings, start):
            if number_of(event.file, event.start) >= end.lsn:
                break
            count += assembler.about(event)
            if count >= max_changes and ends_transaction(event):
                found = BinlogPosition(event.file, event.end)
                return found if found.lsn < end.lsn else end
        return end

    # -- tables ---------------------------------------------------------------------------------

    def _assembler(self) -> EventAssembler:
        return EventAssembler(
            self._followed, self._truncated, self._tables.clear, self._settings.skipped_operations
        )

    def _followed(self, described: TableMap) -> FollowedTable | None:
        settings = self._settings
        database, name = described.database, described.table
        if not settings.tables.has_table(database, name):
            return None
        table = self._table(database, name)
        if self._charsets is None:
            with explained(settings, "can't look up character sets"):
                self._charsets = charsets_of(self._connected())
        now = {} if table is None else {each.name: each for each in table.columns}
        key = () if table is None else table.key
        layout = layout_of(described, now, key, self._charsets)
        if layout is None:
            raise ChangesError(
                f"the log has a change of {database}.{name} with columns that are not those of the "
                "table now, and does not name them: SET GLOBAL binlog_row_metadata = FULL before "
                "tables are altered. Read this table again with a new checkpoint (barnabas "
                "pipeline reset), or leave it out with table.exclude.list"
            )
        shape = shape_of(
            database, name, layout.columns, layout.key, settings.tables, settings.representation
        )
        return FollowedTable(shape, layout)

    def _truncated(self, database: str, name: str) -> TableShape | None:
        if not self._settings.tables.has_table(database, name):
            return None
        table = self._table(database, name)
        return None if table is None else self._shape(table)

    def _shape(self, table: CatalogTable) -> TableShape:
        settings = self._settings
        return shape_of(
            table.database,
            table.name,
            table.columns,
            table.key,
            settings.tables,
            settings.representation,
        )

    def columns_now(self, schema: str, table: str) -> tuple[str, ...] | None:
        """The columns that a table of this database has now; None if it is not there."""
        with explained(self._settings, f"can't look up table {schema}.{table}"):
            found = table_of(self._connected(), schema, table)
        return None if found is None else tuple(each.name for each in found.columns)

    def _table(self, database: str, name: str) -> CatalogTable | None:
        if (database, name) not in self._tables:
            with explained(self._settings, f"can't look up table {database}.{name}"):
                self._tables[database, name] = table_of(self._connected(), database, name)
        return self._tables[database, name]

    def _prepared(self) -> list[CatalogTable]:
        """Check the server and the tables."""
        settings = self._settings
        connection = self._connected()
        check_server(connection, settings)
        found = variables(connection, settings)
        if settings.signal_table and found.get("binlog_order_commits", "ON").upper() == "OFF":
            raise ChangesError(
                "binlog_order_commits of the server is OFF, and signal.data.collection needs "
                "transactions to become visible in the order of the log: SET GLOBAL "
                "binlog_order_commits = ON"
            )
        if found.get("binlog_row_metadata", "").upper() != "FULL":
            _log.warning(
                "binlog_row_metadata of the server is not FULL, so its log does not name columns: "
                "changes from before a table was altered can't be read after it"
            )
        with explained(settings, "can't look at the tables"):
            tables = tables_of(connection, settings.tables)
        check_tables(tables, settings.tables)
        self._is_checked = True
        return tables

    # -- connections ----------------------------------------------------------------------------

    def _connected(self) -> Connection:
        if not is_open(self._connection):
            self._connection = connect(self._settings)
        return self._connection

    def _of_snapshot(self, position: SnapshotPosition, table: CatalogTable | None) -> Connection:
        """The transaction that this snapshot is of, or the present if that is gone."""
        if self._snapshot is not None and self._snapshot[0] == position.name:
            connection = self._snapshot[1]
            if is_open(connection) and (table is None or still_sees(connection, table)):
                return connection
            self.close_snapshot()
        return self._connected()

    def close_snapshot(self) -> None:
        """End the snapshot's transaction, which keeps the server from cleaning up."""
        if self._snapshot is not None:
            self._snapshot[1]._force_close()
            self._snapshot = None

    def close(self) -> None:
        """Close all connections."""
        self.close_snapshot()
        if self._connection is not None:
            self._connection._force_close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

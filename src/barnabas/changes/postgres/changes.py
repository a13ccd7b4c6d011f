"""The changes of a database as a source that can be read again: positions, and what is between.

    changes = PostgresChanges(settings)
    position = changes.initial()               # creates slot and publication
    while True:
        end = changes.latest(position)
        for event in changes.read(position, end): ...
        save(end); position = end              # in one transaction with what was made of it
        changes.commit(position)               # the server may remove its log up to here

`read` between the same two positions gives the same events, as often as it is asked, until the
first of them is committed. It reads the slot without consuming anything (`peek`), so a process that
is killed leaves nothing behind, and any process can go on.
"""

import logging
import time
from collections.abc import Collection, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final, Self

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.incremental import IncrementalSnapshots, has_chunk
from barnabas.changes.postgres import slot
from barnabas.changes.postgres.catalog import (
    Table,
    check_tables,
    primary_key_of,
    relation_of,
    table_named,
    tables_of,
    type_rows,
)
from barnabas.changes.postgres.connection import KeptConnection, explained
from barnabas.changes.postgres.events import Event, EventAssembler
from barnabas.changes.postgres.lsn import parse_lsn
from barnabas.changes.postgres.pgoutput import Relation, decode
from barnabas.changes.postgres.position import ChangePosition
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.changes.postgres.signals import PostgresSignals, next_chunk_of
from barnabas.changes.postgres.slot_log import SlotLog
from barnabas.changes.postgres.snapshot import reading, reading_after, rows_of
from barnabas.changes.postgres.table_shape import shape_of
from barnabas.changes.postgres.type_catalog import TypeCatalog
from barnabas.changes.snapshot_position import SnapshotPosition, chunk_end, chunks
from barnabas.changes.table_shape import TableShape
from barnabas.errors import DataLost

if TYPE_CHECKING:
    from psycopg import Connection

_log = logging.getLogger(__name__)

_TRIES: Final = 10
_LEAST_CHANGE_BYTES: Final = 40
"""A change takes at least so much of the log: less log than that has fewer changes."""


class PostgresChanges:
    """A stream of changes. One thread at a time may use it."""

    def __init__(self, settings: ChangeSettings) -> None:
        self._settings = settings
        self._connection = KeptConnection(settings)
        self._slot_log = SlotLog(settings, self._connected)
        self._exporter: Connection[Any] | None = None
        self._types = TypeCatalog(lambda numbers: type_rows(self._connected(), numbers))
        self._committed = 0
        self._flushed = 0, 0
        """A flush position, and the end of the last transaction before it."""
        self._last_heartbeat = 0.0
        self._is_checked = False
        self._incremental = IncrementalSnapshots(
            PostgresSignals(settings, self._connected), is_due=settings.snapshot_mode == "always"
        )

    # -- positions ------------------------------------------------------------------------------

    def initial(self) -> ChangePosition:
        """Where a new stream starts: a slot is created, unless there is one of the name."""
        settings = self._settings
        tables = self._prepared()
        state = slot.slot_state(self._connected(), settings)
        snapshot_name = None
        if state is None:
            self.close_snapshot()
            created = slot.create_slot(settings)
            self._exporter = created.connection
            lsn, snapshot_name = created.lsn, created.snapshot
        else:
            lsn = state.confirmed_lsn
        if settings.snapshot_mode == "no_data":
            self.close_snapshot()
            return ChangePosition(lsn)
        names = tuple(each.quoted_name for each in tables)
        return ChangePosition(
            lsn, SnapshotPosition(snapshot_name, time.time_ns() // 1000, names, None)
        )

    def latest(self, start: ChangePosition, max_changes: int | None = None) -> ChangePosition:
        """Up to where can be read now; about `max_changes` at a time, and transactions whole."""
        try:
            return self._latest(start, max_changes)
        except DataLost as error:
            if self._settings.snapshot_mode != "when_needed":
                raise
            _log.warning("a new snapshot is taken (snapshot.mode=when_needed): %s", error)
        slot.drop_slot(self._connected(), self._settings)
        return self.initial()

    def _latest(self, start: ChangePosition, max_changes: int | None) -> ChangePosition:
        connection = self._connected()
        if not self._is_checked:
            self._prepared()
        if start.snapshot is not None:
            self._incremental.is_due = False
            slot.checked_slot(connection, self._settings, start.lsn)
            rows = self._settings.snapshot_rows
            return start._replace(
                snapshot=next_chunk_of(connection, self._settings, start.snapshot, rows)
            )
        self.close_snapshot()
        if self._settings.snapshot_mode == "initial_only":
            return start
        self._heartbeat()
        end = self.end(start)
        if max_changes is not None and end.lsn - start.lsn >= max_changes * _LEAST_CHANGE_BYTES:
            end = ChangePosition(self._slot_log.limited(start.lsn, end.lsn, max_changes))
        state, signals = self._incremental.next(start)
        return end._replace(incremental=state, signals=signals)

    def end(self, start: ChangePosition) -> ChangePosition:
        """Where the log ends now: after all transactions that are committed and on disk.

        What is on disk may end in the middle of a commit record, which would count later and not
        now. So an end is where the next record was about to be written, if all before it is on
        disk; otherwise, the end of the last transaction that is.
        """
        state = slot.checked_slot(self._connected(), self._settings, start.lsn)
        if state.flush_lsn >= state.insert_lsn:
            return ChangePosition(max(state.insert_lsn, start.lsn))
        if state.flush_lsn != self._flushed[0]:  # it may stay for seconds, and be asked often
            self._flushed = state.flush_lsn, self._slot_log.last_end(state.flush_lsn) or 0
        return ChangePosition(max(start.lsn, self._flushed[1]))

    def has_log_after(self, position: ChangePosition) -> bool:
        """Whether the server has written anything since: a quick look, before `latest`."""
        with explained(self._settings, "can't look at the log"):
            row = self._connected().execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        return row is not None and parse_lsn(row[0]) > position.lsn

    def commit(self, position: ChangePosition) -> None:
        """Everything before this position is processed and will not be read again."""
        self._incremental.commit(position)
        if position.snapshot is not None or position.lsn <= self._committed:
            return
        state = slot.slot_state(self._connected(), self._settings)
        if state is not None and state.confirmed_lsn < position.lsn:
            slot.advance(self._connected(), self._settings, position.lsn)
        self._committed = position.lsn

    # -- reading --------------------------------------------------------------------------------

    def read(self, start: ChangePosition, end: ChangePosition) -> Iterator[Event]:
        """The events from one position to the other, in the order of commits."""
        if end.snapshot is not None and start.snapshot is None:
            return  # the slot was lost, and everything starts over
        try:
            slot.checked_slot(self._connected(), self._settings, start.lsn)
        except DataLost as error:
            if self._settings.snapshot_mode != "when_needed":
                raise
            # Without the slot, `latest` starts over, also if this one still has what follows.
            _log.warning("changes are left to a new snapshot: %s", error)
            slot.drop_slot(self._connected(), self._settings)
            return
        if start.snapshot is not None:
            for part in chunks(start.snapshot, end.snapshot):
                yield from self._rows(part, chunk_end(part, end.snapshot), start.lsn, None)
        seen: set[int] = set()
        if end.snapshot is None and end.lsn > start.lsn:
            seen = yield from self._log(start.lsn, end.lsn)
        if start.incremental is not None and has_chunk(start, end):
            last = None if end.incremental is None else end.incremental.rest
            for part in chunks(start.incremental.rest, last):
                until = chunk_end(part, last)
                yield from self._rows(part, until, start.incremental.lsn, seen)

    def _rows(
        self,
        part: SnapshotPosition,
        until: tuple[str, ...] | None,
        lsn: int,
        after: Collection[int] | None,
    ) -> Iterator[Event]:
        """Rows of a chunk: of a snapshot, or of the present after these transactions."""
        from psycopg import errors

        for tries in range(1, _TRIES + 1):
            rows = self._rows_once(part, until, lsn, after)
            try:
                first = next(rows, None)
            except ChangesError as error:
                if isinstance(error.__cause__, errors.UndefinedColumn) and tries < _TRIES:
                    continue
                raise
            if first is not None:
                yield first
                yield from rows
            return

    def _rows_once(
        self,
        part: SnapshotPosition,
        until: tuple[str, ...] | None,
        lsn: int,
        after: Collection[int] | None,
    ) -> Iterator[Event]:
        """The same; fails if a column goes between the look at them and the query."""
        connection, name = self._connected(), part.tables[0]
        table = table_named(connection, self._settings.tables, name)
        if table is None:
            _log.warning("table %s was dropped before its snapshot was read", name)
            return
        with explained(self._settings, f"can't read table {name}"):
            relation = relation_of(connection, table)
        shape = self._shape(relation, table.primary_key)
        with (
            explained(self._settings, f"can't read table {name}"),
            reading(connection, part.name, table)
            if after is None
            else reading_after(connection, table, after),
        ):
            found = rows_of(connection, table, relation, part.after, until)
            for number, row in enumerate(found, 1):
                yield Change(
                    "r", shape, lsn, part.time_us, None, row, None, number, number,
                    is_incremental=after is not None,
                )  # fmt: skip

    def _log(self, start: int, end: int) -> Generator[Event, None, set[int]]:
        """The changes between two positions, and the transactions that they are of."""
        settings = self._settings
        assembler = EventAssembler(
            start,
            end,
            self._shape_of_change,
            lambda prefix: any(each.fullmatch(prefix) for each in settings.message_prefixes),
            settings.skipped_operations,
            self._types.forget,
        )
        for lsn, data in self._slot_log.peek(end):
            yield from assembler.events(lsn, decode(data))
            if assembler.is_over:
                break
        return assembler.transaction_ids

    # -- what is there --------------------------------------------------------------------------

    def columns_now(self, schema: str, table: str) -> tuple[str, ...] | None:
        """The columns of a table that changes of it would have now; None if it is not there."""
        connection, settings = self._connected(), self._settings
        with explained(settings, "can't look at the tables"):
            for each in tables_of(connection, settings.tables):
                if (each.schema, each.name) == (schema, table):
                    return tuple(column.name for column in relation_of(connection, each).columns)
        return None

    def _prepared(self) -> list[Table]:
        """Check the server and the tables, and publish them."""
        connection = self._connected()
        settings = self._settings
        slot.check_server(connection, settings)
        with explained(settings, "can't look at the tables"):
            tables = tables_of(connection, settings.tables)
        check_tables(tables, settings.tables)
        slot.ensure_publication(connection, settings, [each.quoted_name for each in tables])
        self._is_checked = True
        return tables

    def _shape_of_change(self, relation: Relation) -> TableShape | None:
        if not self._settings.tables.has_table(relation.schema, relation.name):
            return None
        key: tuple[str, ...] = ()
        if relation.replica_identity not in ("d", "i"):
            with explained(self._settings, "can't look up a primary key"):
                key = primary_key_of(self._connected(), relation.relation_id)
        return self._shape(relation, key)

    def _shape(self, relation: Relation, primary_key: tuple[str, ...]) -> TableShape:
        settings = self._settings
        with explained(settings, "can't look up the types of a table"):
            return shape_of(
                relation,
                primary_key,
                self._types,
                settings.tables,
                settings.representation,
                settings.unavailable_value,
            )

    def _heartbeat(self) -> None:
        interval_s = self._settings.heartbeat_ms / 1000
        now = time.monotonic()
        if interval_s and now - self._last_heartbeat >= interval_s:
            self._last_heartbeat = now
            slot.heartbeat(self._connected(), self._settings)

    # -- connections ----------------------------------------------------------------------------

    def _connected(self) -> "Connection[Any]":
        return self._connection.get()

    def close_snapshot(self) -> None:
        """Let go of the exported snapshot, which keeps the server from cleaning up."""
        if self._exporter is not None:
            self._exporter.close()
            self._exporter = None

    def close(self) -> None:
        """Close all connections; the slot stays."""
        self.close_snapshot()
        self._slot_log.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

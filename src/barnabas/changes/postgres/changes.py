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

import itertools
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Self

from barnabas.changes.postgres import slot
from barnabas.changes.postgres.catalog import (
    Table,
    check_tables,
    primary_key_of,
    relation_of,
    tables_of,
    type_rows,
)
from barnabas.changes.postgres.connection import connect, explained
from barnabas.changes.postgres.events import Change, Event, EventAssembler
from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.changes.postgres.pgoutput import Relation, decode
from barnabas.changes.postgres.position import ChangePosition, SnapshotPosition
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.changes.postgres.snapshot import chunk_end, chunks, next_chunk, reading, rows_of
from barnabas.changes.postgres.table_shape import TableShape, shape_of
from barnabas.changes.postgres.type_catalog import TypeCatalog

if TYPE_CHECKING:
    from psycopg import Connection

_log = logging.getLogger(__name__)

_FETCH_ROWS: Final = 1_000
_LEAST_CHANGE_BYTES: Final = 40
"""A change takes at least so much of the log: less log than that has fewer changes."""
_COMMIT: Final = ord("C")


class PostgresChanges:
    """A stream of changes. One thread at a time may use it."""

    def __init__(self, settings: ChangeSettings) -> None:
        self._settings = settings
        self._connection: Connection[Any] | None = None
        self._stream: Connection[Any] | None = None
        self._exporter: Connection[Any] | None = None
        self._types = TypeCatalog(lambda numbers: type_rows(self._connected(), numbers))
        self._committed = 0
        self._flushed = 0, 0
        """A flush position, and the end of the last transaction before it."""
        self._last_heartbeat = 0.0
        self._is_checked = False

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
        connection = self._connected()
        if not self._is_checked:
            self._prepared()
        if start.snapshot is not None:
            slot.checked_slot(connection, self._settings, start.lsn)
            name = start.snapshot.tables[0]
            with explained(self._settings, f"can't read table {name}"):
                return next_chunk(
                    connection, self._table(name), start, self._settings.snapshot_rows
                )
        self.close_snapshot()
        if self._settings.snapshot_mode == "initial_only":
            return start
        self._heartbeat()
        end = self.end(start)
        if max_changes is None or end.lsn - start.lsn < max_changes * _LEAST_CHANGE_BYTES:
            return end
        return ChangePosition(self._limited(start.lsn, end.lsn, max_changes))

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
            _, last = self._counted(state.flush_lsn, None)
            self._flushed = state.flush_lsn, 0 if last is None else parse_lsn(last)
        return ChangePosition(max(start.lsn, self._flushed[1]))

    def commit(self, position: ChangePosition) -> None:
        """Everything before this position is processed and will not be read again."""
        if position.snapshot is not None or position.lsn <= self._committed:
            return
        state = slot.slot_state(self._connected(), self._settings)
        if state is not None and state.confirmed_lsn < position.lsn:
            slot.advance(self._connected(), self._settings, position.lsn)
        self._committed = position.lsn

    # -- reading --------------------------------------------------------------------------------

    def read(self, start: ChangePosition, end: ChangePosition) -> Iterator[Event]:
        """The events from one position to the other, in the order of commits."""
        slot.checked_slot(self._connected(), self._settings, start.lsn)
        if start.snapshot is not None:
            yield from self._snapshot(start, end)
        if end.snapshot is None and end.lsn > start.lsn:
            yield from self._log(start.lsn, end.lsn)

    def _snapshot(self, start: ChangePosition, end: ChangePosition) -> Iterator[Event]:
        connection = self._connected()
        for part in chunks(start, end):
            name = part.tables[0]
            table = self._table(name)
            if table is None:
                _log.warning("table %s was dropped before its snapshot was read", name)
                continue
            with explained(self._settings, f"can't read table {name}"):
                relation = relation_of(connection, table)
            shape = self._shape(relation, table.primary_key)
            with (
                explained(self._settings, f"can't read table {name}"),
                reading(connection, part.name, table),
            ):
                found = rows_of(connection, table, relation, part.after, chunk_end(part, end))
                for number, row in enumerate(found, 1):
                    yield Change(
                        "r", shape, start.lsn, part.time_us, None, row, None, number, number
                    )

    def _log(self, start: int, end: int) -> Iterator[Event]:
        settings = self._settings
        assembler = EventAssembler(
            start,
            end,
            self._shape_of_change,
            lambda prefix: any(each.fullmatch(prefix) for each in settings.message_prefixes),
            settings.skipped_operations,
            self._types.forget,
        )
        for lsn, data in self._peeked(end):
            yield from assembler.events(lsn, decode(data))
            if assembler.is_over:
                return

    def _peeked(self, end: int) -> Iterator[tuple[int, bytes]]:
        """Positions and messages, from the slot's own position on; none is consumed."""
        from psycopg import capabilities

        settings = self._settings
        # Tables and types are looked up while messages are read, on the other connection.
        connection = self._stream = _alive(self._stream, settings)
        size = _FETCH_ROWS if capabilities.has_stream_chunked() else 1
        query = (
            "SELECT lsn, data FROM pg_logical_slot_peek_binary_changes"
            "(%s, %s::pg_lsn, NULL, VARIADIC %s::text[])"
        )
        parameters = (settings.slot_name, format_lsn(end), self._options())
        with (
            explained(settings, f"can't read slot {settings.slot_name}"),
            connection.cursor(binary=True) as cursor,
        ):

            def begin() -> tuple[Any, Iterator[Any]]:
                rows = cursor.stream(query, parameters, size=size)
                return next(rows, None), rows

            first, rows = slot.when_free(connection, settings, begin)
            if first is None:
                return
            for lsn, data in itertools.chain([first], rows):
                yield int.from_bytes(lsn, "big"), data

    def _options(self) -> list[str]:
        """Of pgoutput: names and values."""
        name = self._settings.publication_name.replace('"', '""')
        messages = ["messages", "true"] if self._settings.message_prefixes else []
        return ["proto_version", "1", "publication_names", f'"{name}"', *messages]

    def _limited(self, start: int, end: int, max_changes: int) -> int:
        """The end of a transaction before `end`, with which there are so many changes or more.

        The server counts from where the slot is, which may be before `start`.
        """
        wanted = max_changes
        while True:
            count, last = self._counted(end, wanted)
            if count < wanted:
                return end
            if last is not None and parse_lsn(last) > start:
                return min(parse_lsn(last), end)
            wanted *= 4

    def _counted(self, end: int, wanted: int | None) -> tuple[int, str | None]:
        """How many messages there are up to `end`, and where the last transaction of them ends."""
        settings = self._settings
        query = (
            "SELECT count(*), (max(lsn) FILTER (WHERE get_byte(data, 0) = %s AND lsn <= %s))::text "
            "FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s, VARIADIC %s::text[])"
        )
        until = format_lsn(end)
        given = (_COMMIT, until, settings.slot_name, until, wanted, self._options())

        def count() -> tuple[int, str | None]:
            row = self._connected().execute(query, given).fetchone()
            return (0, None) if row is None else (row[0], row[1])

        with explained(settings, f"can't read slot {settings.slot_name}"):
            return slot.when_free(self._connected(), settings, count)

    # -- what is there --------------------------------------------------------------------------

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

    def _table(self, quoted_name: str) -> Table | None:
        chosen = tables_of(self._connected(), self._settings.tables)
        return next((each for each in chosen if each.quoted_name == quoted_name), None)

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
        self._connection = _alive(self._connection, self._settings)
        return self._connection

    def close_snapshot(self) -> None:
        """Let go of the exported snapshot, which keeps the server from cleaning up."""
        if self._exporter is not None:
            self._exporter.close()
            self._exporter = None

    def close(self) -> None:
        """Close all connections; the slot stays."""
        self.close_snapshot()
        for each in (self._connection, self._stream):
            if each is not None:
                each.close()
        self._connection = self._stream = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _alive(connection: "Connection[Any] | None", settings: ChangeSettings) -> "Connection[Any]":
    """A connection that has not broken."""
    return connect(settings) if connection is None or connection.closed else connection

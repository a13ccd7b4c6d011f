"""Incremental snapshots: tables that are read again, a chunk at a time, while changes go on.

A chunk is planned with a batch, and its rows come after the batch's changes. They are read once all
of these are visible, as the rows are then, and every change that commits later still follows. So a
row may be newer than its place in the stream, and be followed by changes that it has already: then
they bring it back to what it was, and on to what it is. It can't be older. That also holds if the
batch is read again, when its rows may be newer still. No watermarks are needed for it, and nothing
has to be dropped: a row that changes meanwhile comes as well, with the large values that an update
of it does not have.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.changes.postgres import slot
from barnabas.changes.postgres.catalog import table_named, tables_of
from barnabas.changes.postgres.connection import explained
from barnabas.changes.postgres.position import ChangePosition, IncrementalPosition
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.changes.postgres.signals import delete_signals, followed, pending_signals
from barnabas.changes.postgres.snapshot import next_chunk
from barnabas.changes.snapshot_position import SnapshotPosition

if TYPE_CHECKING:
    from psycopg import Connection


class IncrementalSnapshots:
    """Plans chunks, as signals ask for them, and with `snapshot.mode=always` at the start."""

    def __init__(
        self, settings: ChangeSettings, connected: "Callable[[], Connection[Any]]"
    ) -> None:
        self._settings = settings
        self._connected = connected
        self._deleted: tuple[str, ...] = ()
        self.is_due = settings.snapshot_mode == "always"
        """Whether all tables are to be read, since this is a new start."""

    def next(self, start: ChangePosition) -> tuple[IncrementalPosition | None, tuple[str, ...]]:
        """What is left after the next batch, and the signals that were followed up to there.

        A batch that takes signals has no chunk, so a chunk is always between two states.
        """
        settings, state = self._settings, start.incremental
        connection = self._connected()
        found = pending_signals(connection, settings) if settings.signal_table else []
        kept = tuple(each.id for each in found if each.id in start.signals)
        new = [each for each in found if each.id not in start.signals]
        is_due = self.is_due and state is None
        self.is_due = False
        if new or is_due:
            tables = tables_of(connection, settings.tables)
            lsn = slot.checked_slot(connection, settings, start.lsn).restart_lsn
            now_us = time.time_ns() // 1000
            if is_due:
                names = tuple(each.quoted_name for each in tables)
                state = IncrementalPosition(lsn, now_us, names, None)
            for each in new:
                state = followed(each, state, tables, lsn, now_us)
            return state, (*kept, *(each.id for each in new))
        if state is not None and not state.is_paused:
            left = next_chunk_of(connection, settings, state.rest, settings.incremental_rows)
            state = None if left is None else state._replace(tables=left.tables, after=left.after)
        return state, kept

    def commit(self, position: ChangePosition) -> None:
        """The position is saved: the signals in it need not be there any more."""
        if position.signals and position.signals != self._deleted:
            delete_signals(self._connected(), self._settings, position.signals)
        self._deleted = position.signals


def has_chunk(start: ChangePosition, end: ChangePosition) -> bool:
    """Whether a batch has a chunk: if it has taken no signals."""
    return start.incremental is not None and set(end.signals) <= set(start.signals)


def next_chunk_of(
    connection: "Connection[Any]", settings: ChangeSettings, rest: SnapshotPosition, rows: int
) -> SnapshotPosition | None:
    """What is left after a chunk of so many rows."""
    name = rest.tables[0]
    with explained(settings, f"can't read table {name}"):
        return next_chunk(connection, table_named(connection, settings.tables, name), rest, rows)

"""Incremental snapshots: tables that are read again, a chunk at a time, while changes go on.

A chunk is planned with a batch, and its rows come after the batch's changes. They are read once all
of these are visible, as the rows are then, and every change that commits later still follows. So a
row may be newer than its place in the stream, and be followed by changes that it has already: then
they bring it back to what it was, and on to what it is. It can't be older. That also holds if the
batch is read again, when its rows may be newer still. Nothing has to be dropped between two
watermarks: a row that changes meanwhile comes as well, with the large values that an update of it
may not have.

This is the plan, the same for all databases; how rows are read, and when all changes are visible,
is up to each of them. A position has, besides what is left of a snapshot, the signals that were
followed up to there, and whose rows may still be in their table.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.changes.signals import Signal, SignalledTable, followed
from barnabas.changes.snapshot_position import SnapshotPosition, snapshot_position_of


class IncrementalPosition(NamedTuple):
    """What is still to be read of an incremental snapshot."""

    lsn: int
    """That of its rows: before every change that can still come."""
    time_us: int
    tables: tuple[str, ...]
    after: tuple[str, ...] | None
    is_paused: bool = False

    @property
    def rest(self) -> SnapshotPosition:
        """The same as for a snapshot of the present."""
        return SnapshotPosition(None, self.time_us, self.tables, self.after)


def incremental_position_of(
    found: Mapping[str, Any], lsn_of: Callable[[Any], int]
) -> IncrementalPosition:
    """From what was saved; a `KeyError`, `TypeError` or `ValueError` if it is none."""
    rest = snapshot_position_of({"name": None, **found})
    return IncrementalPosition(
        lsn_of(found["lsn"]), rest.time_us, rest.tables, rest.after, bool(found["is_paused"])
    )


class Started(Protocol):
    """Where a batch starts."""

    @property
    def incremental(self) -> IncrementalPosition | None: ...

    @property
    def signals(self) -> tuple[str, ...]: ...


class SignalledDatabase(Protocol):
    """What differs between databases."""

    def pending_signals(self) -> Sequence[Signal]:
        """Those that are in the table, in the order in which they are followed."""
        ...

    def delete_signals(self, ids: Sequence[str]) -> None:
        """Forget signals that were taken."""
        ...

    def signalled_tables(self) -> Sequence[SignalledTable]:
        """The tables of the stream."""
        ...

    def rows_lsn(self, start: Any) -> int:
        """An `lsn` for rows: before every change that comes after this position."""
        ...

    def next_chunk(self, rest: SnapshotPosition) -> SnapshotPosition | None:
        """What is left after the next chunk."""
        ...


class IncrementalSnapshots:
    """Plans chunks, as signals ask for them."""

    def __init__(self, database: SignalledDatabase, *, is_due: bool = False) -> None:
        self._database = database
        self._deleted: tuple[str, ...] = ()
        self.is_due = is_due
        """Whether all tables are to be read, without a signal."""

    def next(self, start: Started) -> tuple[IncrementalPosition | None, tuple[str, ...]]:
        """What is left after the next batch, and the signals that were followed up to there.

        A batch that takes signals has no chunk, so a chunk is always between two states.
        """
        state, database = start.incremental, self._database
        found = database.pending_signals()
        kept = tuple(each.id for each in found if each.id in start.signals)
        new = [each for each in found if each.id not in start.signals]
        is_due = self.is_due and state is None
        self.is_due = False
        if new or is_due:
            tables = database.signalled_tables()
            lsn = database.rows_lsn(start)
            now_us = time.time_ns() // 1000
            if is_due:
                names = tuple(each.name for each in tables)
                state = IncrementalPosition(lsn, now_us, names, None)
            for each in new:
                state = _after(each, state, tables, lsn, now_us)
            return state, (*kept, *(each.id for each in new))
        if state is not None and not state.is_paused:
            left = database.next_chunk(state.rest)
            state = None if left is None else state._replace(tables=left.tables, after=left.after)
        return state, kept

    def commit(self, position: Started) -> None:
        """The position is saved: the signals in it need not be there any more."""
        if position.signals and position.signals != self._deleted:
            self._database.delete_signals(position.signals)
        self._deleted = position.signals


def has_chunk(start: Started, end: Started) -> bool:
    """Whether a batch has a chunk: if it has taken no signals."""
    return start.incremental is not None and set(end.signals) <= set(start.signals)


def _after(
    signal: Signal,
    state: IncrementalPosition | None,
    tables: Sequence[SignalledTable],
    lsn: int,
    time_us: int,
) -> IncrementalPosition | None:
    """What is to be read after a signal."""
    before = None if state is None else state.rest
    wanted = followed(signal, before, tables, time_us)
    if wanted.rest is None:
        return None
    begun = state or IncrementalPosition(lsn, wanted.rest.time_us, (), None)
    is_paused = begun.is_paused if wanted.is_paused is None else wanted.is_paused
    return begun._replace(tables=wanted.rest.tables, after=wanted.rest.after, is_paused=is_paused)

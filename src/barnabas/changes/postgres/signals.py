"""Signals: rows that somebody inserts into a table to have tables read again while changes go on.

    CREATE TABLE debezium_signal (id text PRIMARY KEY, type text NOT NULL, data text);
    INSERT INTO debezium_signal VALUES ('1', 'execute-snapshot',
        '{"data-collections": ["public.orders"], "type": "incremental"}');

A signal is taken when a batch is planned, and is in the position from then on; its row is deleted
once that position is saved. A signal that can't be followed is a warning, and is deleted as well:
it must not stop the changes.
"""

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.changes.errors import ChangesError
from barnabas.changes.postgres.catalog import Table
from barnabas.changes.postgres.connection import explained
from barnabas.changes.postgres.position import IncrementalPosition
from barnabas.changes.postgres.settings import ChangeSettings

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Identifier

_log = logging.getLogger(__name__)


class Signal(NamedTuple):
    """A row of the table; its data may be anything."""

    id: str
    kind: str
    data: str


class BadSignal(ValueError):  # noqa: N818 - its name says what is wrong
    """A signal that can't be followed; the message says why."""


def pending_signals(connection: "Connection[Any]", settings: ChangeSettings) -> list[Signal]:
    """Those that are in the table, in the order in which they were written, about."""
    from psycopg import errors, sql

    table = _table(settings)
    query = sql.SQL("SELECT id::text, type::text, coalesce(data::text, '') FROM {} ORDER BY ctid")
    name = settings.signal_table
    try:
        with explained(settings, f"can't read signals from {name}"):
            return [Signal(*row) for row in connection.execute(query.format(table))]
    except ChangesError as error:
        if not isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedColumn):
            raise
        raise ChangesError(
            f"signal.data.collection={name} is not a table of signals: CREATE TABLE {name} "
            "(id text PRIMARY KEY, type text NOT NULL, data text)"
        ) from error


def delete_signals(
    connection: "Connection[Any]", settings: ChangeSettings, ids: Sequence[str]
) -> None:
    """Forget signals that were taken."""
    from psycopg import sql

    with explained(settings, f"can't delete signals from {settings.signal_table}"):
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE id::text = ANY (%s)").format(_table(settings)),
            (list(ids),),
        )


def followed(
    signal: Signal,
    state: IncrementalPosition | None,
    tables: Sequence[Table],
    lsn: int,
    time_us: int,
) -> IncrementalPosition | None:
    """What is to be read after a signal; `tables` are those of the stream."""
    try:
        return _followed(signal, state, tables, lsn, time_us)
    except BadSignal as error:
        _log.warning("signal %s (%s) is ignored: %s", signal.id, signal.kind, error)
        return state


def _followed(
    signal: Signal,
    state: IncrementalPosition | None,
    tables: Sequence[Table],
    lsn: int,
    time_us: int,
) -> IncrementalPosition | None:
    data = _data(signal)
    match signal.kind:
        case "execute-snapshot":
            chosen = _chosen(data, tables)
            if state is None:
                return IncrementalPosition(lsn, time_us, tuple(chosen), None)
            new = [each for each in chosen if each not in state.tables[1:]]
            return state._replace(tables=(*state.tables, *new))
        case "stop-snapshot":
            return None if state is None else _without(state, data, tables)
        case "pause-snapshot" | "resume-snapshot":
            is_paused = signal.kind == "pause-snapshot"
            return None if state is None else state._replace(is_paused=is_paused)
        case "log":
            _log.info("signal %s: %s", signal.id, data.get("message", ""))
            return state
    raise BadSignal(
        "use execute-snapshot, stop-snapshot, pause-snapshot, resume-snapshot or log as its type"
    )


def _data(signal: Signal) -> Mapping[str, Any]:
    try:
        data = json.loads(signal.data or "{}")
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise BadSignal("its data is not a JSON object")
    if data.get("type", "incremental").lower() != "incremental":
        raise BadSignal(f"type is {data['type']!r}; use incremental")
    for name in ("additional-conditions", "additional-condition", "surrogate-key"):
        if data.get(name):
            raise BadSignal(f"{name} is not supported; leave it out to read whole tables")
    return data


def _matching(data: Mapping[str, Any], tables: Sequence[Table]) -> list[Table]:
    patterns = data.get("data-collections")
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise BadSignal('data-collections has to be a list of tables, as ["public.orders"]')
    try:
        compiled = [re.compile(each) for each in patterns]
    except re.error as error:
        raise BadSignal(f"data-collections has no regular expressions ({error})") from None
    return [
        each
        for each in tables
        if any(pattern.fullmatch(f"{each.schema}.{each.name}") for pattern in compiled)
    ]


def _chosen(data: Mapping[str, Any], tables: Sequence[Table]) -> Collection[str]:
    found = _matching(data, tables)
    if not found:
        raise BadSignal(f"none of {data['data-collections']} is in table.include.list")
    for each in found:
        if not each.primary_key:
            _log.warning("%s has no primary key, and can't be read in chunks", each.quoted_name)
    names = [each.quoted_name for each in found if each.primary_key]
    if not names:
        raise BadSignal("give the tables a primary key")
    return names


def _without(
    state: IncrementalPosition, data: Mapping[str, Any], tables: Sequence[Table]
) -> IncrementalPosition | None:
    if not data.get("data-collections"):
        return None
    stopped = {each.quoted_name for each in _matching(data, tables)}
    left = tuple(each for each in state.tables if each not in stopped)
    if not left:
        return None
    after = state.after if left[0] == state.tables[0] else None
    return state._replace(tables=left, after=after)


def _table(settings: ChangeSettings) -> "Identifier":
    from psycopg import sql

    return sql.Identifier(*settings.signal_table.split(".", 1))

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
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.changes.snapshot_position import SnapshotPosition
from barnabas.regex import InvalidPattern, LinearPattern

_log = logging.getLogger(__name__)


class Signal(NamedTuple):
    """A row of the table; its data may be anything."""

    id: str
    kind: str
    data: str


class SignalledTable(NamedTuple):
    """A table that signals can name."""

    name: str
    """As positions have it."""
    full_name: str
    """What regular expressions match: schema.table, or database.table."""
    has_key: bool


class Wanted(NamedTuple):
    """What a signal wants to be read, and whether that waits; None if it does not say."""

    rest: SnapshotPosition | None
    is_paused: bool | None = None


class BadSignal(ValueError):  # noqa: N818 - its name says what is wrong
    """A signal that can't be followed; the message says why."""


def followed(
    signal: Signal,
    rest: SnapshotPosition | None,
    tables: Sequence[SignalledTable],
    time_us: int,
) -> Wanted:
    """What is to be read after a signal, and `rest` before it; `tables` are the stream's."""
    try:
        return _followed(signal, rest, tables, time_us)
    except BadSignal as error:
        _log.warning("signal %s (%s) is ignored: %s", signal.id, signal.kind, error)
        return Wanted(rest)


def _followed(
    signal: Signal,
    rest: SnapshotPosition | None,
    tables: Sequence[SignalledTable],
    time_us: int,
) -> Wanted:
    data = _data(signal)
    match signal.kind:
        case "execute-snapshot":
            chosen = _chosen(data, tables)
            if rest is None:
                return Wanted(SnapshotPosition(None, time_us, tuple(chosen), None))
            new = [each for each in chosen if each not in rest.tables[1:]]
            return Wanted(rest._replace(tables=(*rest.tables, *new)))
        case "stop-snapshot":
            return Wanted(None if rest is None else _without(rest, data, tables))
        case "pause-snapshot" | "resume-snapshot":
            return Wanted(rest, signal.kind == "pause-snapshot")
        case "log":
            _log.info("signal %s: %s", signal.id, data.get("message", ""))
            return Wanted(rest)
    raise BadSignal(
        "use execute-snapshot, stop-snapshot, pause-snapshot, resume-snapshot or log as its type"
    )


def _data(signal: Signal) -> Mapping[str, Any]:
    try:
        data = json.loads(signal.data or "{}")
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise BadSignal("its data is not a JSON object")
    if data.get("type", "incremental").lower() != "incremental":
        raise BadSignal(f"type is {data['type']!r}; use incremental")
    for name in ("additional-conditions", "additional-condition", "surrogate-key"):
        if data.get(name):
            raise BadSignal(f"{name} is not supported; leave it out to read whole tables")
    return data


def _matching(data: Mapping[str, Any], tables: Sequence[SignalledTable]) -> list[SignalledTable]:
    patterns = data.get("data-collections")
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise BadSignal('data-collections has to be a list of tables, as ["public.orders"]')
    try:
        compiled = [LinearPattern(each) for each in patterns]  # by whoever may send signals
    except InvalidPattern as error:
        raise BadSignal(f"data-collections has no regular expressions ({error})") from None
    return [each for each in tables if any(pattern.matches(each.full_name) for pattern in compiled)]


def _chosen(data: Mapping[str, Any], tables: Sequence[SignalledTable]) -> Sequence[str]:
    found = _matching(data, tables)
    if not found:
        raise BadSignal(f"none of {data['data-collections']} is in table.include.list")
    for each in found:
        if not each.has_key:
            _log.warning("%s has no primary key, and can't be read in chunks", each.name)
    names = [each.name for each in found if each.has_key]
    if not names:
        raise BadSignal("give the tables a primary key")
    return names


def _without(
    rest: SnapshotPosition, data: Mapping[str, Any], tables: Sequence[SignalledTable]
) -> SnapshotPosition | None:
    if not data.get("data-collections"):
        return None
    stopped = {each.name for each in _matching(data, tables)}
    left = tuple(each for each in rest.tables if each not in stopped)
    if not left:
        return None
    after = rest.after if left[0] == rest.tables[0] else None
    return rest._replace(tables=left, after=after)

"""The databases whose changes can be read: what differs between them for Spark."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, Self

from barnabas.changes.envelope import ChangeRecord
from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.envelope import MySqlEnvelope
from barnabas.changes.mysql.position import binlog_position_of
from barnabas.changes.mysql.settings import mysql_settings
from barnabas.changes.mysql.values import PLAIN as MYSQL_PLAIN
from barnabas.changes.postgres.changes import PostgresChanges
from barnabas.changes.postgres.envelope import Envelope
from barnabas.changes.postgres.position import position_of
from barnabas.changes.postgres.settings import change_settings
from barnabas.changes.postgres.values import PLAIN as POSTGRES_PLAIN
from barnabas.changes.snapshot_position import SnapshotPosition
from barnabas.errors import InvalidArgument


class Position(Protocol):
    """How far a stream was read."""

    @property
    def lsn(self) -> int: ...

    @property
    def snapshot(self) -> SnapshotPosition | None: ...

    def up_to(self, other: Any) -> Self:
        """The same, with the log read up to where another one has it."""
        ...

    def json(self) -> dict[str, Any]: ...


class ChangeLog(Protocol):
    """`PostgresChanges`, `MySqlChanges`; positions are those of the same database."""

    def initial(self) -> Position: ...

    def latest(self, start: Any, max_changes: int | None = None) -> Position: ...

    def end(self, start: Any) -> Position: ...

    def has_log_after(self, position: Any) -> bool: ...

    def commit(self, position: Any) -> None: ...

    def read(self, start: Any, end: Any) -> Iterator[Any]: ...

    def columns_now(self, schema: str, table: str) -> Collection[str] | None:
        """The columns that a table has now; None if there is no such table."""
        ...

    def close(self) -> None: ...


class ChangeDatabase(ABC):
    """A database, with checked settings."""

    topic_prefix: str

    @abstractmethod
    def open(self) -> ChangeLog:
        """A stream of its changes."""

    @abstractmethod
    def position(self, saved: Mapping[str, Any]) -> Position:
        """A position, from what was saved."""

    @abstractmethod
    def records(self, events: Iterable[Any]) -> Iterator[ChangeRecord]:
        """Events as records."""


class PostgresDatabase(ChangeDatabase):
    """A PostgreSQL."""

    def __init__(self, given: Mapping[str, str], *, is_plain: bool) -> None:
        settings = change_settings(given)
        self._settings = replace(settings, representation=POSTGRES_PLAIN) if is_plain else settings
        self.topic_prefix = settings.topic_prefix

    def open(self) -> ChangeLog:
        return PostgresChanges(self._settings)

    def position(self, saved: Mapping[str, Any]) -> Position:
        return position_of(saved)

    def records(self, events: Iterable[Any]) -> Iterator[ChangeRecord]:
        envelope = Envelope(self._settings)
        return (record for event in events for record in envelope.records(event))


class MySqlDatabase(ChangeDatabase):
    """A MySQL or MariaDB."""

    def __init__(self, given: Mapping[str, str], *, is_plain: bool) -> None:
        settings = mysql_settings(given)
        self._settings = replace(settings, representation=MYSQL_PLAIN) if is_plain else settings
        self.topic_prefix = settings.topic_prefix

    def open(self) -> ChangeLog:
        # Rows are read by tasks in other processes, which can't use the snapshot of this one.
        return MySqlChanges(self._settings, keep_snapshot=False)

    def position(self, saved: Mapping[str, Any]) -> Position:
        return binlog_position_of(saved)

    def records(self, events: Iterable[Any]) -> Iterator[ChangeRecord]:
        envelope = MySqlEnvelope(self._settings)
        return (record for event in events for record in envelope.records(event))


_KINDS: dict[str, type[PostgresDatabase | MySqlDatabase]] = {
    "postgres": PostgresDatabase,
    "mysql": MySqlDatabase,
}


def database_of(kind: str, given: Mapping[str, str], *, is_plain: bool) -> ChangeDatabase:
    """A database of a kind: postgres or mysql; `is_plain` if its values are for `from_json`."""
    if kind not in _KINDS:
        raise InvalidArgument(f"unknown database {kind!r}; use {' or '.join(_KINDS)}")
    return _KINDS[kind](given, is_plain=is_plain)

"""The replication slot, which keeps the log from being removed before it was read, and the
publication, which says of which tables changes are sent.

The slot's own position moves by `advance` alone, up to what was processed and saved. A position
that was saved counts; the slot's never replaces it: if the slot is ahead, changes are lost, and
that is an error.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from barnabas.changes.errors import ChangesError
from barnabas.changes.postgres.connection import connect, explained, where
from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.changes.postgres.settings import ChangeSettings
from barnabas.errors import DataLost

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")

_log = logging.getLogger(__name__)

HEARTBEAT_PREFIX = "barnabas.heartbeat"


class SlotState(NamedTuple):
    """A slot, and the log of its server."""

    confirmed_lsn: int
    insert_lsn: int
    """Where the next record of the log starts; no record crosses it."""
    flush_lsn: int
    """What is on disk, and can be read."""
    restart_lsn: int
    """Before all changes of transactions that the slot still has to send."""


class CreatedSlot(NamedTuple):
    """A new slot, and what is needed for a snapshot that fits it."""

    lsn: int
    """Transactions that commit here or later are sent; the snapshot has all others."""
    snapshot: str
    connection: "Connection[Any]"
    """The snapshot lives as long as this."""


def check_server(connection: "Connection[Any]", settings: ChangeSettings) -> None:
    """Refuse a server that can't do it, and warn of one that may run out of disk space."""
    with explained(settings, "can't read the server's settings"):
        level, keep = connection.execute(
            "SELECT current_setting('wal_level'), current_setting('max_slot_wal_keep_size')"
        ).fetchone() or ("", "")
    if level != "logical":
        raise ChangesError(
            f"wal_level of the server is {level}, and changes need logical: run ALTER SYSTEM SET "
            "wal_level = logical and restart it (on a managed service, set its parameter for "
            "logical replication)"
        )
    if keep == "-1":
        _log.warning(
            "max_slot_wal_keep_size is not set: while nothing reads slot %s, the server keeps its "
            "log until the disk is full. Set a limit, such as ALTER SYSTEM SET "
            "max_slot_wal_keep_size = '50GB'",
            settings.slot_name,
        )


def slot_state(connection: "Connection[Any]", settings: ChangeSettings) -> SlotState | None:
    """The slot as it is, None if there is none; raises if it can't be used any more."""
    with explained(settings, f"can't look at slot {settings.slot_name}"):
        row = connection.execute(
            "SELECT slot_type, plugin, database, wal_status, confirmed_flush_lsn::text, "
            "pg_current_wal_insert_lsn()::text, pg_current_wal_flush_lsn()::text, "
            "restart_lsn::text "
            "FROM pg_replication_slots WHERE slot_name = %s",
            (settings.slot_name,),
        ).fetchone()
    if row is None:
        return None
    kind, plugin, database, status, confirmed, insert, flush, restart = row
    name = settings.slot_name
    if kind != "logical" or plugin != "pgoutput" or database != settings.dbname:
        raise ChangesError(
            f"slot {name} is a {kind} slot for plugin {plugin} in database {database}, not one of "
            f"pgoutput in {settings.dbname}: set slot.name to another name"
        )
    if status == "lost" or confirmed is None:
        raise DataLost(
            f"slot {name} is lost: the server has removed log that was not read yet, since it was "
            "more than max_slot_wal_keep_size. Raise that, drop the slot (SELECT "
            f"pg_drop_replication_slot('{name}')), and start again with a new snapshot: "
            "`barnabas pipeline reset`, another checkpoint, or snapshot.mode=when_needed"
        )
    return SlotState(*map(parse_lsn, (confirmed, insert, flush, restart)))


def checked_slot(
    connection: "Connection[Any]", settings: ChangeSettings, start_lsn: int
) -> SlotState:
    """The slot, if it still has everything from here on."""
    state = slot_state(connection, settings)
    name = settings.slot_name
    again = (
        "Start again with a new snapshot: `barnabas pipeline reset`, another checkpoint, or "
        "snapshot.mode=when_needed"
    )
    if state is None:
        raise DataLost(
            f"slot {name} does not exist in {where(settings)}, and changes since "
            f"{format_lsn(start_lsn)} were not read: was it dropped, or is this another server? "
            f"{again}"
        )
    if state.confirmed_lsn > start_lsn:
        raise DataLost(
            f"slot {name} starts at {format_lsn(state.confirmed_lsn)}, and changes since "
            f"{format_lsn(start_lsn)} were not read: it was created again, or something else has "
            f"read from it. {again}"
        )
    if state.flush_lsn < start_lsn:
        raise DataLost(
            f"the log of {where(settings)} ends at {format_lsn(state.flush_lsn)}, and was read up "
            f"to {format_lsn(start_lsn)}: was the server restored from a backup, or is it another "
            f"one? {again}"
        )
    return state


def create_slot(settings: ChangeSettings) -> CreatedSlot:
    """A new slot, with a snapshot of the database at its start."""
    from psycopg import errors, sql

    connection = connect(settings, replication=True)
    command = sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(
        sql.Identifier(settings.slot_name)
    )
    try:
        with explained(settings, f"can't create slot {settings.slot_name}"):
            row = connection.execute(command).fetchone()
    except ChangesError as error:
        connection.close()
        if isinstance(error.__cause__, errors.ConfigurationLimitExceeded):
            raise ChangesError(
                f"{error}: drop a slot that is not used (pg_replication_slots), or raise "
                "max_replication_slots"
            ) from error
        raise
    assert row is not None
    return CreatedSlot(parse_lsn(row[1]), row[2], connection)


def drop_slot(connection: "Connection[Any]", settings: ChangeSettings) -> None:
    """Remove a slot, if there is one of the name, that no longer has what is needed."""

    def drop() -> None:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_name = %s",
            (settings.slot_name,),
        )

    with explained(settings, f"can't drop slot {settings.slot_name}"):
        when_free(connection, settings, drop)


def ensure_publication(
    connection: "Connection[Any]", settings: ChangeSettings, tables: Sequence[str]
) -> None:
    """Create the publication, or add tables to it (publication.autocreate.mode)."""
    from psycopg import sql

    name = settings.publication_name
    found = connection.execute(
        "SELECT puballtables, pubviaroot FROM pg_publication WHERE pubname = %s", (name,)
    ).fetchone()
    listed = sql.SQL(", ").join(map(sql.SQL, tables))
    identifier = sql.Identifier(name)
    if found is None:
        if settings.autocreate == "disabled":
            raise ChangesError(
                f"publication {name} does not exist: CREATE PUBLICATION {name} FOR TABLE …, or set "
                "publication.autocreate.mode=filtered"
            )
        whole = sql.SQL("ALL TABLES")
        of = whole if settings.autocreate == "all_tables" else sql.SQL("TABLE {}").format(listed)
        with explained(settings, f"can't create publication {name}"):
            connection.execute(
                sql.SQL("CREATE PUBLICATION {} FOR {} WITH (publish_via_partition_root)").format(
                    identifier, of
                )
            )
        return
    if found[0]:
        return
    published = {
        each
        for (each,) in connection.execute(
            "SELECT format('%%I.%%I', schemaname, tablename) FROM pg_publication_tables "
            "WHERE pubname = %s",
            (name,),
        )
    }
    missing = [each for each in tables if each not in published]
    if not missing:
        return
    if settings.autocreate != "filtered":
        raise ChangesError(
            f"publication {name} lacks {', '.join(missing)}: ALTER PUBLICATION {name} ADD TABLE "
            f"{', '.join(missing)}, or leave them out (table.exclude.list)"
        )
    with explained(settings, f"can't add tables to publication {name}"):
        connection.execute(
            sql.SQL("ALTER PUBLICATION {} ADD TABLE {}").format(
                identifier,
                sql.SQL(", ").join(map(sql.SQL, missing)),
            )
        )


def advance(connection: "Connection[Any]", settings: ChangeSettings, lsn: int) -> None:
    """Let the server remove its log before this position."""

    def move() -> None:
        connection.execute(
            "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)",
            (settings.slot_name, format_lsn(lsn)),
        )

    with explained(settings, f"can't advance slot {settings.slot_name}"):
        when_free(connection, settings, move)


def heartbeat(connection: "Connection[Any]", settings: ChangeSettings) -> None:
    """Write a message into the log, outside of any table, and have it written to disk."""
    with explained(settings, "can't write a heartbeat"):
        connection.execute(
            "SELECT pg_logical_emit_message(true, %s, %s)",
            (HEARTBEAT_PREFIX, settings.slot_name),
        )


def when_free(connection: "Connection[Any]", settings: ChangeSettings, use: Callable[[], T]) -> T:
    """Use the slot, which one connection can use at a time; wait for another one to end."""
    from psycopg import errors

    tries = 0
    while True:
        try:
            return use()
        except errors.ObjectInUse as error:
            tries += 1
            if tries > settings.slot_retries:
                raise ChangesError(
                    f"slot {settings.slot_name} is in use by {_holder(connection, settings)}: "
                    "stop that, or give this stream another slot.name"
                ) from error
        time.sleep(settings.slot_retry_delay_ms / 1000)


def _holder(connection: "Connection[Any]", settings: ChangeSettings) -> str:
    row = connection.execute(
        "SELECT a.pid, a.application_name, a.client_addr::text FROM pg_replication_slots s "
        "JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE s.slot_name = %s",
        (settings.slot_name,),
    ).fetchone()
    if row is None:
        return "another connection"
    pid, application, address = row
    return f"process {pid} ({application or 'unnamed'} at {address or 'a local socket'})"

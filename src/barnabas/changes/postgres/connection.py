"""Connections to the database whose changes are read, and its errors in a line.

Values come as texts, and how a text looks depends on the session: so it is fixed here, the same for
snapshots and changes.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.changes.errors import ChangesError, first_line
from barnabas.changes.postgres.settings import ChangeSettings

if TYPE_CHECKING:
    from psycopg import Connection

_CONNECT_TIMEOUT_S = 10
_PAUSE_S = 0.5
_SESSION = {
    "bytea_output": "hex",
    "datestyle": "ISO",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",  # an exported snapshot is such a transaction
    "intervalstyle": "iso_8601",
    "lc_monetary": "C",
    "search_path": "",  # so that names of tables and types are whole
    "statement_timeout": "0",
    "timezone": "UTC",
}


def connect(settings: ChangeSettings, *, replication: bool = False) -> "Connection[Any]":
    """A connection on which every statement is a transaction."""
    import psycopg

    from barnabas.changes.postgres.watched_connection import WatchedConnection

    session = " ".join(f"-c {name}={value or quoted_empty}" for name, value in _SESSION.items())
    parameters: dict[str, Any] = {
        "host": settings.hostname,
        "port": settings.port,
        "user": settings.user,
        "password": settings.password,
        "dbname": settings.dbname,
        "options": session,
        "client_encoding": "utf8",
        "application_name": f"barnabas {settings.slot_name}",
        "connect_timeout": _CONNECT_TIMEOUT_S,
        **settings.connection,
    }
    if replication:
        parameters["replication"] = "database"
    try:
        return WatchedConnection.opened(
            "", limit_s=settings.query_timeout_s, autocommit=True, **parameters
        )
    except psycopg.Error as error:
        raise ChangesError(
            f"can't connect to {where(settings)}: {first_line(error)}{_fix(str(error))}"
        ) from None


class KeptConnection:
    """A connection that is opened when it is needed, and again after it has broken."""

    def __init__(self, settings: ChangeSettings) -> None:
        self._settings = settings
        self._connection: Connection[Any] | None = None
        self._used_at = 0.0

    def get(self) -> "Connection[Any]":
        """The connection. After a pause it is tried first: the server may have restarted."""
        import psycopg

        found = self._connection
        now = time.monotonic()
        if found is not None and not found.closed and now - self._used_at > _PAUSE_S:
            try:
                found.execute("")
            except psycopg.OperationalError:
                found.close()
        if found is None or found.closed:
            found = self._connection = connect(self._settings)
        self._used_at = now
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


quoted_empty = "''"


def where(settings: ChangeSettings) -> str:
    """The database, without secrets."""
    host = settings.hostname or "the default host"
    port = f":{settings.port}" if settings.port else ""
    user = f" as {settings.user}" if settings.user else ""
    return f"database {settings.dbname} at {host}{port}{user}"


@contextmanager
def explained(settings: ChangeSettings, doing: str) -> Iterator[None]:
    """Errors of the database, with what was being done and where."""
    import psycopg
    from psycopg import errors

    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise ChangesError(
            f"{doing}: {first_line(error)}: the user needs the attribute REPLICATION, SELECT on "
            "the tables, and for a new publication to own them (or create it yourself and set "
            "publication.autocreate.mode=disabled)"
        ) from error
    except psycopg.Error as error:
        what = first_line(error)
        fix = " (database.query.timeout.ms)" if what.endswith("time limit?") else ""
        raise ChangesError(f"{doing} ({where(settings)}): {what}{fix}") from error


def _fix(text: str) -> str:
    if "password authentication failed" in text or "no password supplied" in text:
        return ": set database.user and database.password (or PGPASSWORD, ~/.pgpass)"
    if "does not exist" in text:
        return ": is database.dbname or database.user right?"
    if "pg_hba.conf" in text:
        return ": allow this user and address in pg_hba.conf"
    return ": is the server running, and are database.hostname and database.port right?"

"""Connections to the server whose changes are read, and its errors in a line.

The driver is PyMySQL. It gives values as texts here, in UTC, so that nothing depends on the server.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from barnabas.changes.errors import ChangesError, first_line
from barnabas.changes.mysql.settings import MySqlSettings
from barnabas.errors import InvalidArgument

_CONNECT_TIMEOUT_S: Final = 10
_SESSION: Final = (
    "SET SESSION time_zone = '+00:00', sql_mode = '', net_write_timeout = 600, wait_timeout = 28800"
)
_NO_PRIVILEGE: Final = {1044, 1142, 1143, 1227}
_NO_ACCESS: Final = {1045, 1698}

Connection = Any
"""Of the driver, which has no types."""


def driver() -> Any:
    """PyMySQL, or an error that says how to get it."""
    try:
        return import_module("pymysql")
    except ImportError:
        raise InvalidArgument(
            "changes of a MySQL or MariaDB need PyMySQL: pip install 'barnabas[mysql]'"
        ) from None


def connect(settings: MySqlSettings) -> Connection:
    """A connection on which every statement is a transaction."""
    pymysql = driver()
    encoders = {
        of: convert for of, convert in pymysql.converters.encoders.items() if isinstance(of, type)
    }
    place: dict[str, Any] = {"host": settings.hostname, "port": settings.port}
    if settings.socket is not None:
        place["unix_socket"] = settings.socket
        if not settings.tls:
            # Before it knows what the server has, the driver would load all certificates.
            place["ssl_disabled"] = True
    try:
        return pymysql.connect(
            **place,
            **settings.tls,
            user=settings.user,
            password=settings.password or "",
            charset="utf8mb4",
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=settings.query_timeout_s,
            write_timeout=settings.query_timeout_s,
            autocommit=True,
            init_command=_SESSION,
            conv=encoders,
        )
    except pymysql.MySQLError as error:
        raise ChangesError(
            f"can't connect to {where(settings)}: {_shown(error)}{_fix(error)}"
        ) from None


def rows(connection: Connection, query: str, given: Any = None) -> list[tuple[Any, ...]]:
    """The rows of a query, as texts."""
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        return list(cursor.fetchall())


def is_open(connection: Connection | None) -> bool:
    return connection is not None and bool(connection.open)


def where(settings: MySqlSettings) -> str:
    """The server, without secrets."""
    place = settings.socket or f"{settings.hostname}:{settings.port}"
    return f"{place} as {settings.user}"


@contextmanager
def explained(settings: MySqlSettings, doing: str) -> Iterator[None]:
    """Errors of the server, with what was being done and where."""
    pymysql = driver()
    try:
        yield
    except pymysql.MySQLError as error:
        fix = (
            ": the user needs REPLICATION SLAVE, REPLICATION CLIENT (MariaDB: BINLOG MONITOR), and "
            "SELECT on the tables"
            if _number(error) in _NO_PRIVILEGE
            else ""
        )
        raise ChangesError(f"{doing} ({where(settings)}): {_shown(error)}{fix}") from error
    except OSError as error:
        raise ChangesError(f"{doing} ({where(settings)}): {first_line(error)}") from error


def _number(error: BaseException) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _shown(error: BaseException) -> str:
    if len(error.args) > 1:
        return str(error.args[1]).strip().splitlines()[0]
    return first_line(error)


def _fix(error: BaseException) -> str:
    if _number(error) in _NO_ACCESS:
        return ": set database.user and database.password"
    return ": is the server running, and are database.hostname and database.port right?"

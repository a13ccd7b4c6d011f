"""Connections to PostgreSQL, and its errors in a line."""

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.changes.errors import first_line
from barnabas.errors import BarnabasError, InvalidArgument

if TYPE_CHECKING:
    from psycopg import Connection

_CONNECT_TIMEOUT_S = 10
_PASSWORD = re.compile(
    r"(://[^/:@]*):[^?\s]*@|(:thin:[^/@]*)/[^@\s]*@|(password=)\S+", re.IGNORECASE
)
"""In a URL, in one of Oracle's for JDBC, and as a parameter."""


class DatabaseError(BarnabasError):
    """The database refuses rows, or can't be reached."""


@contextmanager
def connected(url: str) -> "Iterator[Connection]":
    """A connection; its changes are committed unless an exception is raised."""
    import psycopg

    from barnabas.changes.postgres.watched_connection import WatchedConnection

    wanted = {"application_name": "barnabas", "connect_timeout": _CONNECT_TIMEOUT_S}
    defaults: dict[str, Any] = {name: each for name, each in wanted.items() if name not in url}
    try:
        connection = WatchedConnection.opened(url, **defaults)
    except psycopg.ProgrammingError as error:
        raise not_a_url(url, error) from None
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"can't connect to {shown(url)}: {first_line(error)} (is it running, and is the URL "
            "right?)"
        ) from error
    with connection:
        yield connection


def check_driver() -> None:
    """Say what to install if it is missing."""
    if importlib.util.find_spec("psycopg") is None:
        raise InvalidArgument("PostgreSQL needs psycopg: pip install 'barnabas[postgres]'")


def shown(url: str) -> str:
    """An address without its password."""
    return _PASSWORD.sub(
        lambda found: f"{found[3]}***" if found[3] else f"{found[1] or found[2]}@", url
    )


def database_reason(error: Exception) -> str:
    """The first line of an error of the database, and the column that it names, if it does."""
    lines = [each.strip() for each in str(error).splitlines() if each.strip()]
    where = [each.removeprefix("CONTEXT:").strip() for each in lines[1:] if "column" in each]
    return "; ".join([first_line(error), *where[:1]])


def not_a_url(url: str, error: Exception) -> InvalidArgument:
    """The error for an address that libpq can't parse."""
    return InvalidArgument(
        f"{shown(url)} is not a PostgreSQL URL such as postgresql://user@host:5432/database: "
        f"{first_line(error)}"
    )

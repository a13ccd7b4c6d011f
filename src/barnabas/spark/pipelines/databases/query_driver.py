"""Connections for queries, by URL: `sqlite:PATH`, `duckdb:PATH`, `postgresql://…`, `mysql://…`.

A URL that begins with `jdbc:` is any database whose driver is in a JAR (`jdbc`).
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.duck import open_file
from barnabas.spark.pipelines.databases.jdbc import JdbcConnection, JdbcError, check_jdbc
from barnabas.spark.pipelines.databases.mysql import mysql_arguments
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.postgres.connection import (
    DatabaseError,
    database_reason,
    shown,
)

_CONNECT_TIMEOUT_S = 10
_FETCHED_ROWS = 5_000


@dataclass(frozen=True)
class QueryDriver:
    """How queries are run on one kind of database."""

    module: str
    extra: str
    mark: str
    """Stands for a value in a statement."""
    connect: Callable[[QueryPlace], Any]
    cursor: Callable[[Any, int], Any]
    """A cursor for at most so many rows, which does not fetch all at once where there is such."""
    raised: Callable[[], type[Exception]]
    """The exceptions of the driver."""
    has_limit: bool = True
    """Whether queries may have LIMIT and OFFSET."""


def _sqlite(place: QueryPlace) -> Any:
    path = place.file
    if not Path(path).exists():
        raise DatabaseError(f"{path} does not exist")
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, timeout=60)


def _postgres(place: QueryPlace) -> Any:
    from barnabas.changes.postgres.watched_connection import WatchedConnection

    return WatchedConnection.opened(
        place.url, limit_s=place.timeout_s, connect_timeout=_CONNECT_TIMEOUT_S
    )


def _mysql(place: QueryPlace) -> Any:
    pymysql = import_module("pymysql")
    return pymysql.connect(
        **mysql_arguments(place.url),
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=place.timeout_s,
        write_timeout=place.timeout_s,
        init_command="SET SESSION time_zone = '+00:00'",
    )


def _duckdb(place: QueryPlace) -> Any:
    return open_file(place.file, read_only=True)


def _plain_cursor(connection: Any, _max_rows: int) -> Any:
    return connection.cursor()


_POSTGRES = QueryDriver(
    "psycopg",
    "postgres",
    "%s",
    _postgres,
    lambda connection, _: connection.cursor("barnabas"),
    lambda: import_module("psycopg").Error,
)
_MYSQL = QueryDriver(
    "pymysql",
    "mysql",
    "%s",
    _mysql,
    lambda connection, _: connection.cursor(import_module("pymysql.cursors").SSCursor),
    lambda: import_module("pymysql").MySQLError,
)
DRIVERS = {
    "sqlite": QueryDriver("sqlite3", "", "?", _sqlite, _plain_cursor, lambda: sqlite3.Error),
    "duckdb": QueryDriver(
        "duckdb", "duckdb", "?", _duckdb, _plain_cursor, lambda: import_module("duckdb").Error
    ),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "jdbc": QueryDriver(
        "jpype",
        "jdbc",
        "?",
        JdbcConnection,
        lambda connection, max_rows: connection.cursor(max_rows),
        lambda: JdbcError,
        has_limit=False,
    ),
}


def driver_of(place: QueryPlace) -> QueryDriver:
    """The driver for a URL."""
    return DRIVERS[place.scheme]


def check_place(place: QueryPlace) -> None:
    """Raise `InvalidArgument` if there is no driver, or the URL is wrong."""
    found = DRIVERS.get(place.scheme)
    if found is None:
        raise InvalidArgument(
            f"url {shown(place.url)!r}: use sqlite:PATH, duckdb:PATH, postgresql://…, mysql://… or "
            "jdbc:…"
        )
    if place.scheme == "jdbc":
        check_jdbc(place)
    else:
        for name in ("jars", "user", "password"):
            if getattr(place, name):
                raise InvalidArgument(f"{name.removesuffix('s')} is for URLs that begin with jdbc:")
    if find_spec(found.module) is None:
        raise InvalidArgument(
            f"{place.scheme} needs {found.module}: pip install 'barnabas[{found.extra}]'"
        )
    if found is _MYSQL:
        mysql_arguments(place.url)


@contextmanager
def reading(place: QueryPlace) -> Iterator[Any]:
    """A connection to read with; what it says about failures is explained."""
    driver = driver_of(place)
    try:
        connection = driver.connect(place)
        try:
            yield connection
        finally:
            connection.close()
    except driver.raised() as error:
        raise DatabaseError(f"{shown(place.url)}: {database_reason(error)}") from error


def fetched(
    place: QueryPlace, connection: Any, statement: str, values: Sequence[Any], max_rows: int = 0
) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
    """The names of the columns, and some rows at a time; `max_rows` if the driver has no LIMIT."""
    driver = driver_of(place)
    cursor = driver.cursor(connection, max_rows)
    try:
        cursor.execute(statement, tuple(values))
        names = [str(each[0]) for each in cursor.description]
        while rows := cursor.fetchmany(_FETCHED_ROWS):
            yield names, [tuple(row) for row in rows]
    finally:
        cursor.close()

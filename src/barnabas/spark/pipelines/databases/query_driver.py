"""Connections for queries, by URL: `sqlite:PATH`, `duckdb:PATH`, `postgresql://…`, `mysql://…`."""

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
from barnabas.spark.pipelines.databases.mysql import mysql_arguments
from barnabas.spark.pipelines.postgres.connection import DatabaseError, database_reason, shown

_CONNECT_TIMEOUT_S = 10
_FETCHED_ROWS = 5_000


@dataclass(frozen=True)
class QueryDriver:
    """How queries are run on one kind of database."""

    module: str
    extra: str
    mark: str
    """Stands for a value in a statement."""
    connect: Callable[[str], Any]
    cursor: Callable[[Any], Any]
    """A cursor that does not fetch all rows at once, where the database has such."""
    error: str = "Error"


def _sqlite(url: str) -> Any:
    path = file_of(url)
    if not Path(path).exists():
        raise DatabaseError(f"{path} does not exist")
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, timeout=60)


def _postgres(url: str) -> Any:
    return import_module("psycopg").connect(url, connect_timeout=_CONNECT_TIMEOUT_S)


def _mysql(url: str) -> Any:
    pymysql = import_module("pymysql")
    return pymysql.connect(
        **mysql_arguments(url),
        connect_timeout=_CONNECT_TIMEOUT_S,
        init_command="SET SESSION time_zone = '+00:00'",
    )


def _duckdb(url: str) -> Any:
    return open_file(file_of(url), read_only=True)


_POSTGRES = QueryDriver(
    "psycopg", "postgres", "%s", _postgres, lambda connection: connection.cursor("barnabas")
)
_MYSQL = QueryDriver(
    "pymysql",
    "mysql",
    "%s",
    _mysql,
    lambda connection: connection.cursor(import_module("pymysql.cursors").SSCursor),
    "MySQLError",
)
DRIVERS = {
    "sqlite": QueryDriver("sqlite3", "", "?", _sqlite, lambda connection: connection.cursor()),
    "duckdb": QueryDriver("duckdb", "duckdb", "?", _duckdb, lambda connection: connection.cursor()),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
FILES = ("sqlite", "duckdb")


def driver_of(url: str) -> QueryDriver:
    """The driver for a URL; raises `InvalidArgument`."""
    scheme = url.partition(":")[0]
    found = DRIVERS.get(scheme)
    if found is None:
        raise InvalidArgument(
            f"url {shown(url)!r}: use sqlite:PATH, duckdb:PATH, postgresql://… or mysql://…"
        )
    if find_spec(found.module) is None:
        raise InvalidArgument(
            f"{scheme} needs {found.module}: pip install 'barnabas[{found.extra}]'"
        )
    if found is _MYSQL:
        mysql_arguments(url)
    return found


def file_of(url: str) -> str:
    """The path in a URL of a file: `sqlite:shop.db`, or `sqlite:///var/shop.db`."""
    return url.partition(":")[2].removeprefix("//")


def with_file(url: str, path: str) -> str:
    return f"{url.partition(':')[0]}:{path}"


@contextmanager
def reading(url: str) -> Iterator[Any]:
    """A connection to read with; what it says about failures is explained."""
    driver = driver_of(url)
    raised: type[Exception] = getattr(import_module(driver.module), driver.error)
    try:
        connection = driver.connect(url)
        try:
            yield connection
        finally:
            connection.close()
    except raised as error:
        raise DatabaseError(f"{shown(url)}: {database_reason(error)}") from error


def fetched(
    driver: QueryDriver, connection: Any, statement: str, values: Sequence[Any]
) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
    """The names of the columns, and some rows at a time."""
    cursor = driver.cursor(connection)
    try:
        cursor.execute(statement, tuple(values))
        names = [str(each[0]) for each in cursor.description]
        while rows := cursor.fetchmany(_FETCHED_ROWS):
            yield names, [tuple(row) for row in rows]
    finally:
        cursor.close()

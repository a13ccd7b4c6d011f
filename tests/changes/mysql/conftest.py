"""One MariaDB for all, and a database of each test's own."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.changes.mysql.changes import MySqlChanges
from tests.changes.mysql.replica import plain
from tests.support.mariadb import MariaDb

Settings = Callable[..., dict[str, str]]
Read = Callable[..., MySqlChanges]
Execute = Callable[..., list[tuple[Any, ...]]]

LOGGED = ("--log-bin=bin", "--server-id=7", "--binlog-format=ROW", "--binlog-row-metadata=FULL")


@pytest.fixture(scope="session")
def server() -> Iterator[MariaDb]:
    server = MariaDb(*LOGGED)
    yield server
    server.close()


@pytest.fixture
def database(server: MariaDb) -> Iterator[str]:
    name = f"db_{secrets.token_hex(4)}"
    server.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield name
    server.execute(f"DROP DATABASE {name}")


@pytest.fixture
def run(server: MariaDb, database: str) -> Execute:
    """Runs statements, one after the other."""

    def execute(*statements: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for each in statements:
            found = server.execute(each, database)
        return found

    return execute


@pytest.fixture
def settings(server: MariaDb, database: str) -> Settings:
    """Settings for the test's database; `__` stands for a dot."""

    def make(**more: str) -> dict[str, str]:
        given = {name.replace("__", "."): value for name, value in more.items()}
        return {
            "database.hostname": "localhost",
            "database.unix.socket": str(server.socket),
            "database.user": "root",
            "topic.prefix": "shop",
            "database.include.list": database,
            **given,
        }

    return make


@pytest.fixture
def read(settings: Settings) -> Iterator[Read]:
    """A reader of the database, with plain values."""
    made: list[MySqlChanges] = []

    def make(**more: str) -> MySqlChanges:
        made.append(MySqlChanges(plain(settings(**more))))
        return made[-1]

    yield make
    for each in made:
        each.close()

"""One PostgreSQL for all, and a database of each test's own."""

import secrets
from collections.abc import Callable, Iterator

import psycopg
import pytest

from barnabas.changes.postgres.changes import PostgresChanges
from tests.changes.postgres.replica import plain
from tests.support.postgres import Postgres

Settings = Callable[..., dict[str, str]]
Read = Callable[..., PostgresChanges]


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    server = Postgres(wal_level="logical")
    yield server
    server.close()


@pytest.fixture
def database(server: Postgres) -> Iterator[str]:
    name = f"db_{secrets.token_hex(4)}"
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield name
    with server.connect() as connection:
        slots = connection.execute(
            "SELECT slot_name FROM pg_replication_slots WHERE database = %s", (name,)
        ).fetchall()
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        for (slot,) in slots:
            connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connection(server: Postgres, database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.url, dbname=database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def settings(server: Postgres, database: str) -> Settings:
    """Settings for the test's database; `__` stands for a dot."""

    def make(**more: str) -> dict[str, str]:
        given = {name.replace("__", "."): value for name, value in more.items()}
        return {
            "database.hostname": str(server.folder),
            "database.user": "postgres",
            "database.dbname": database,
            "topic.prefix": "shop",
            "slot.name": database,
            **given,
        }

    return make


@pytest.fixture
def read(settings: Settings) -> Iterator[Read]:
    """A reader of the database, with plain values."""
    made: list[PostgresChanges] = []

    def make(**more: str) -> PostgresChanges:
        made.append(PostgresChanges(plain(settings(**more))))
        return made[-1]

    yield make
    for each in made:
        each.close()

"""A server that stops answering without closing: it is noticed, said, and read again later."""

import time

import psycopg
import pytest

from barnabas.changes.errors import ChangesError
from barnabas.changes.events import Change
from barnabas.changes.postgres import watched_connection
from barnabas.changes.postgres.watched_connection import WatchedConnection
from barnabas.spark.pipelines.databases.query_driver import fetched, reading
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.postgres.connection import DatabaseError
from tests.changes.postgres.conftest import Read
from tests.support.postgres import Postgres

pytestmark = pytest.mark.long  # a server that does not answer is waited for

SILENT = r"no answer for \d+ s, and new connections time out"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the server after half a second of silence."""
    monkeypatch.setattr(watched_connection, "PROBE_AFTER_S", 0.5)
    monkeypatch.setattr(watched_connection, "_PROBES", 1)
    monkeypatch.setattr(watched_connection, "_PROBE_TIMEOUT_S", 5)


@pytest.fixture
def table(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, name text)")
    connection.execute("INSERT INTO a SELECT n, repeat('x', 1000) FROM generate_series(1, 20000) n")


def test_while_a_snapshot_is_read(server: Postgres, read: Read, table: None) -> None:
    changes = read(table__include__list="public.a")
    start = changes.initial()
    end = changes.latest(start)
    events = changes.read(start, end)
    next(events)
    with (
        server.frozen(),
        pytest.raises(ChangesError, match=f"read table public.a .*{SILENT}"),
    ):
        list(events)
    assert len(list(changes.read(start, end))) == 20_000, "all of it, once it answers again"


def test_while_the_log_is_read(
    server: Postgres, read: Read, connection: psycopg.Connection, table: None
) -> None:
    changes = read(table__include__list="public.a", snapshot__mode="no_data")
    start = changes.initial()
    connection.execute("UPDATE a SET name = 'y' WHERE id <= 3")
    end = changes.latest(start)
    list(changes.read(start, end))
    with server.frozen(), pytest.raises(ChangesError, match=SILENT):
        list(changes.read(start, end))
    updates = [each for each in changes.read(start, end) if isinstance(each, Change)]
    assert [each.op for each in updates] == ["u", "u", "u"]


def test_while_a_query_is_read(server: Postgres) -> None:
    place = QueryPlace(server.url)

    def frozen_halfway() -> None:
        with reading(place) as connection:
            rows = fetched(place, connection, "SELECT generate_series(1, 20000)", ())
            assert len(next(rows)[1]) == 5_000
            with server.frozen():
                next(rows)

    with pytest.raises(DatabaseError, match=SILENT):
        frozen_halfway()
    with reading(place) as connection:
        found = fetched(place, connection, "SELECT generate_series(1, 20000)", ())
        assert sum(len(some) for _, some in found) == 20_000


def test_a_server_that_is_only_slow_is_waited_for(server: Postgres) -> None:
    with WatchedConnection.opened(server.url) as connection:
        assert connection.execute("SELECT pg_sleep(2), 7 AS n").fetchone() == ("", 7)
    began = time.monotonic()
    with (
        pytest.raises(psycopg.OperationalError, match="no answer for 1 s: is the server frozen"),
        WatchedConnection.opened(server.url, limit_s=1) as connection,
    ):
        connection.execute("SELECT pg_sleep(600)")
    assert time.monotonic() - began < 300


def test_a_query_that_takes_longer_than_its_limit(
    read: Read, connection: psycopg.Connection, table: None
) -> None:
    changes = read(table__include__list="public.a", database__query__timeout__ms="1000")
    start = changes.initial()
    end = changes.latest(start)
    with psycopg.connect(connection.info.dsn) as other:
        other.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ChangesError, match=r"for 1 s.* \(database\.query\.timeout\.ms\)$"):
            list(changes.read(start, end))
    assert len(list(changes.read(start, end))) == 20_000

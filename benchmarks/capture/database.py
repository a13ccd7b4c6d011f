"""The PostgreSQL whose changes are taken, and what it costs it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from tests.support.postgres import Postgres

TABLE = "public.orders"

_CREATE = f"""
    CREATE TABLE {TABLE} (
        id bigint PRIMARY KEY, customer int, item text, price numeric(10, 2), note text,
        at timestamptz DEFAULT now()
    )
"""
_ROW = "n, n % 1000, 'item ' || n % 50, n % 10000 / 100.0, repeat('note ', 20)"
_COLUMNS = "id, customer, item, price, note"
_CHANGES = f"""
    CREATE PROCEDURE change(first bigint, transactions int, size int) LANGUAGE plpgsql AS $$
    BEGIN
        FOR t IN 0 .. transactions - 1 LOOP
            INSERT INTO {TABLE} ({_COLUMNS})
            SELECT {_ROW} FROM generate_series(first + t * size, first + t * size + size - 1) n;
            COMMIT;
        END LOOP;
    END $$
"""


@dataclass
class Database:
    """A server with one table."""

    server: Postgres
    port: int
    connection: psycopg.Connection
    slot: str = "bench"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def insert(self, first: int, count: int) -> None:
        """So many rows of 150 bytes, in one transaction."""
        self.connection.execute(
            f"INSERT INTO {TABLE} ({_COLUMNS}) "
            f"SELECT {_ROW} FROM generate_series({first}, {first + count - 1}) n"
        )

    def change(self, first: int, transactions: int, size: int) -> None:
        """So many transactions of so many inserts."""
        self.connection.execute(f"CALL change({first}, {transactions}, {size})")

    def cpu_s(self) -> float:
        """Of all its processes, also of those that have ended."""
        pid = int(Path(self.server.folder, "data", "postmaster.pid").read_text().split()[0])
        server = psutil.Process(pid)
        total = 0.0
        for each in (server, *server.children()):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                total += times.user + times.system
                if each == server:
                    total += times.children_user + times.children_system
        return total


@contextmanager
def database() -> Iterator[Database]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Postgres(tcp_port=port, wal_level="logical", max_wal_size="4GB")
    try:
        with server.connect() as connection:
            connection.execute(_CREATE)
            connection.execute(_CHANGES)
            yield Database(server, port, connection)
    finally:
        server.close()

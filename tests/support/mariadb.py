"""A MariaDB for tests, which listens on a socket in its own short-named folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.freezing import freeze
from tests.support.machine import find_tool, missing
from tests.support.wait import wait_until

_TOOLS = ("mariadbd", "mariadb-install-db")


class MariaDb:
    """A server with a database `shop` and a user `root` without a password."""

    def __init__(self, *options: str) -> None:
        for name in _TOOLS:
            if find_tool(name) is None:
                pytest.skip(missing(name))
        self.folder = Path(tempfile.mkdtemp(prefix="my-"))
        self._data = self.folder / "data"
        self.socket = self.folder / "s"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        # A server that starts removes temporary tables that it finds there, also of other servers.
        self._environment = {**os.environ, "TMPDIR": str(self.folder)}
        install = _real("mariadb-install-db")
        done = subprocess.run(
            [
                install,
                "--no-defaults",
                f"--datadir={self._data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *self._user(),
            ],
            env={**self._environment, "PATH": f"/usr/bin:/usr/sbin:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.start()
        self.execute("CREATE DATABASE shop")

    @property
    def url(self) -> str:
        return f"mysql://root@localhost/shop?unix_socket={self.socket}"

    def start(self, *options: str) -> None:
        """Start it, with other options if any are given."""
        self._options = options or self._options
        server = _real("mariadbd")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    server,
                    "--no-defaults",
                    f"--datadir={self._data}",
                    f"--socket={self.socket}",
                    "--skip-networking",
                    "--innodb-flush-log-at-trx-commit=2",  # processes are killed, not machines
                    "--innodb-buffer-pool-size=32M",
                    "--default-time-zone=+09:00",  # what is written must not depend on it
                    *self._options,
                    *self._user(),
                ],
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers, lambda: (self.folder / "log").read_text())

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It is stopped: connections stay open, and nothing is answered."""
        assert self._process is not None
        freeze(self._process.pid)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def execute(self, statement: str, database: str | None = None) -> list[tuple[object, ...]]:
        import pymysql

        connection = pymysql.connect(
            unix_socket=str(self.socket), user="root", database=database, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _answers(self) -> bool:
        import pymysql

        try:
            self.execute("SELECT 1")
        except pymysql.OperationalError:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()
            return False
        return True

    @staticmethod
    def _user() -> list[str]:
        return ["--user=root"] if os.getuid() == 0 else []


def _real(name: str) -> Path:
    """The program itself: these look for their files next to it."""
    link = find_tool(name)
    assert link is not None
    return link.readlink()

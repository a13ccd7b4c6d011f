"""A connection to PostgreSQL on which no wait is endless, also if the server is frozen.

A server that is stopped, or whose disk hangs, keeps its connections open, and its kernel answers
for it: neither libpq nor TCP notice. How long a query takes says nothing, a large one may take
minutes before its first row. So a wait that takes long asks whether the server lets a new
connection in. If it does not, or after `limit_s` in any case, the connection is closed and the wait
fails.

Imported where it is needed: psycopg is an extra.
"""

import time
from collections.abc import Generator
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors

T = TypeVar("T")

LIMIT_S = 600.0
"""How long the server may take for an answer, or for its next rows, by default."""
PROBE_AFTER_S = 30.0
_PROBES = 2
_PROBE_TIMEOUT_S = 10
ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Parameters of a connection, so that a server that vanished is noticed within a minute."""


class WatchedConnection(psycopg.Connection[Any]):
    """See the docstring of the module."""

    limit_s: float = LIMIT_S
    _address: tuple[str, dict[str, Any]] = ("", {})

    @classmethod
    def opened(cls, url: str, *, limit_s: float = LIMIT_S, **parameters: Any) -> Self:
        """A connection; `parameters` are those of `psycopg.connect`, and the URL's go first."""
        given = {name: each for name, each in ALIVE.items() if name not in url} | parameters
        connection = cls.connect(url, **given)
        connection.limit_s = limit_s
        connection._address = url, {**given, "connect_timeout": _PROBE_TIMEOUT_S}
        return connection

    def wait(self, gen: Generator[Any, Any, T], *arguments: Any, **named: Any) -> T:
        """Where psycopg waits for the server, whatever it has asked: each answer has its time."""
        return super().wait(self._timed(gen), *arguments, **named)

    def _timed(self, waiting: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """The same, with a look at the clock when nothing has come for a tenth of a second."""
        began = time.monotonic()
        probe_at = began + PROBE_AFTER_S
        try:
            wanted = next(waiting)
            while True:
                ready = yield wanted
                now = time.monotonic() if not ready else began
                if now - began >= self.limit_s:
                    raise self._given_up(
                        f"no answer for {self.limit_s:g} s: is the server frozen, or busy for "
                        "longer than the time limit?"
                    )
                if now >= probe_at:
                    self._check_alive(began)
                    probe_at = time.monotonic() + PROBE_AFTER_S
                wanted = waiting.send(ready)
        except StopIteration as done:
            value: T = done.value
            return value

    def _check_alive(self, since: float) -> None:
        if not self._is_alive():
            waited_s = time.monotonic() - since
            raise self._given_up(
                f"no answer for {waited_s:.0f} s, and new connections time out: is the server "
                "frozen?"
            )

    def _is_alive(self) -> bool:
        """Whether the server lets a new connection in, or at least refuses it."""
        url, parameters = self._address
        for _ in range(_PROBES):
            try:
                psycopg.connect(url, **parameters).close()
            except errors.ConnectionTimeout:
                continue
            except psycopg.Error:
                return True
            return True
        return False

    def _given_up(self, why: str) -> psycopg.OperationalError:
        self.pgconn.finish()
        return psycopg.OperationalError(why)

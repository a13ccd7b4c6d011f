"""The shop's database: a PostgreSQL that can be killed, and is started again."""

import asyncio
import random
import signal
import socket
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from examples.demo.processes import ProcessCrashedError, Processes

_PATIENCE_S = 60.0
_PAUSE_S = 0.05


class Database:
    """Make it with `Database.start`."""

    def __init__(self, processes: Processes, folder: Path, port: int) -> None:
        self._processes = processes
        self._folder = folder
        self._port = port
        self._server: Process | None = None

    @classmethod
    async def start(cls, processes: Processes, folder: Path) -> "Database":
        """Create a database in the folder, and start its server on a free port."""
        database = cls(processes, folder, _free_port())
        await database.start_server()
        return database

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    async def connect(self) -> "psycopg.AsyncConnection[Any]":
        """A connection on which every statement is a transaction, once the server is there."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                try:
                    return await psycopg.AsyncConnection.connect(self.url, autocommit=True)
                except psycopg.OperationalError:  # it is starting, or recovers
                    await asyncio.sleep(_PAUSE_S)

    async def start_server(self) -> None:
        """Start it, and wait until it takes connections."""
        self._server = await self._processes.start(
            "-m", "examples.demo.database_server", str(self._folder), str(self._port),
            on_line=lambda _: None,
        )  # fmt: skip
        try:
            await (await self.connect()).close()
        except TimeoutError:
            raise ProcessCrashedError(
                f"the database did not start:\n{self._processes.errors()}"
            ) from None

    async def kill(self) -> None:
        """`kill -9` of the server and of all that it has started."""
        assert self._server is not None
        await self._processes.kill_one(self._server)

    async def stop(self) -> None:
        """Without waiting for those who are connected."""
        assert self._server is not None
        self._server.send_signal(signal.SIGINT)
        await self._processes.end(self._server, ask=False)


def _free_port() -> int:
    """None that systems give to clients: it must still be free when the server restarts."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port

"""The counter as a process that is killed in mid-transaction, and those who read its counts."""

import asyncio
from asyncio.subprocess import Process
from typing import Any

from examples.demo.processes import OnRow, Processes
from examples.demo.tally import Tally

GROUP = "counting"
NAME = "counter-1"

_PATIENCE_S = 30.0


class Counting:
    """Counts page views from `source` into `target`."""

    def __init__(
        self, processes: Processes, bootstrap: str, source: str, target: str, tally: Tally
    ) -> None:
        self._processes = processes
        self._bootstrap = bootstrap
        self._source = source
        self._target = target
        self._tally = tally
        self._open = asyncio.Event()
        self._counter: Process | None = None

    async def start(self) -> None:
        """For the first time, or again: always the same program with the same name."""
        self._counter = await self._processes.client(
            "-m", "examples.demo.counter", self._bootstrap, self._source, self._target, GROUP, NAME,
            on_row=self._told,
        )  # fmt: skip

    def _told(self, row: dict[str, Any]) -> None:
        self._tally.told(row)
        if row["state"] == "open":
            self._open.set()

    async def kill_in_mid_transaction(self) -> None:
        """And start it again. One that was faster than the signal is killed once more."""
        caught = False
        while not caught:
            self._open.clear()
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._open.wait()
            except TimeoutError:
                return  # it is found out at the reckoning
            assert self._counter is not None
            await self._processes.crash(self._counter)
            caught = self._tally.crashed()
            await self.start()

    async def stop(self) -> None:
        assert self._counter is not None
        await self._processes.end(self._counter)

    async def read_back(self) -> None:
        """Once everything, and once what was committed. The command line will do."""
        await asyncio.gather(
            self._read("read_uncommitted", self._tally.found),
            self._read("read_committed", self._tally.saw),
        )

    async def _read(self, isolation: str, on_row: OnRow) -> None:
        await self._processes.run(
            "-m", "barnabas", "consume", self._target, "--bootstrap", self._bootstrap,
            "--no-follow", "--isolation", isolation, "--json", "--value-deserializer", "json",
            on_row=on_row,
        )  # fmt: skip

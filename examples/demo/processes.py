"""The processes of the demo: started together, and none left behind."""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

_READY = re.compile(r"ready on (\S+)")
_PATIENCE_S = 15.0
_ROOT = Path(__file__).parents[2]

OnRow = Callable[[dict[str, Any]], None]


class ProcessCrashedError(Exception):
    """A process of the demo has ended as it should not; the message has its last words."""


class Processes:
    """Use it as an async context manager: leaving it ends whatever still runs."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._running: list[Process] = []
        self._ending: set[Process] = set()
        self._pumps: dict[Process, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            self.kill()  # clients would wait long for a broker that is gone
        # Last come, first go: the broker outlives its clients, so that they can say goodbye.
        for process in list(reversed(self._running)):
            await self.end(process)

    async def broker(self, data: Path) -> tuple[Process, str]:
        """Start `barnabas server` on a free port and return its address."""
        process = await self._start(
            "-m", "barnabas", "server", "--listen", "127.0.0.1:0", "--data", str(data)
        )
        assert process.stdout is not None
        async with asyncio.timeout(_PATIENCE_S):
            while line := (await process.stdout.readline()).decode():
                ready = _READY.search(line)
                if ready:
                    return process, ready[1]
        raise ProcessCrashedError(f"the broker did not start:\n{self.errors()}")

    async def client(self, *arguments: str, on_row: OnRow) -> Process:
        """Start a producer or consumer; `on_row` gets each JSON line that it prints."""
        process = await self._start(*arguments)
        self._pumps[process] = asyncio.create_task(_pump(process, on_row))
        return process

    async def _start(self, *arguments: str) -> Process:
        plain = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C reaches only the demo, which ends everybody in order.
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=log,
                cwd=_ROOT,
                env=plain,
                start_new_session=True,
            )
        self._running.append(process)
        return process

    def check(self) -> None:
        """Raise `ProcessCrashedError` if something that should run does not."""
        for process in self._running:
            if process.returncode and process not in self._ending:
                raise ProcessCrashedError(
                    f"a process ended with {process.returncode}:\n{self.errors()}"
                )

    def errors(self) -> str:
        """What the processes have said on stderr."""
        return self._log.read_text(errors="replace").strip()

    async def finished(self, process: Process) -> None:
        """Wait until a process ends by itself, in order."""
        code = await process.wait()
        await self._pumps[process]
        self._running.remove(process)
        if code != 0:
            raise ProcessCrashedError(f"a process ended with {code}:\n{self.errors()}")

    async def end(self, process: Process) -> None:
        """Ask a process to end, insist if it does not, and take in its last words."""
        self._ending.add(process)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        if process in self._pumps:
            await self._pumps[process]
        self._running.remove(process)

    def kill(self) -> None:
        """For the impatient: end at once what still runs."""
        for process in self._running:
            with suppress(ProcessLookupError):
                process.kill()


async def _pump(process: Process, on_row: OnRow) -> None:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        on_row(json.loads(line))

"""The processes of the demo: started together, and none left behind."""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

_PATIENCE_S = 30.0
_LINES_SHOWN = 20
_ROOT = Path(__file__).parents[2]

OnLine = Callable[[str], None]
OnRow = Callable[[dict[str, Any]], None]


class ProcessCrashedError(Exception):
    """A process of the demo has ended as it should not; the message has its last words."""


class Processes:
    """Use it as an async context manager: leaving it ends whatever still runs."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._running: list[Process] = []
        self._names: dict[Process, str] = {}
        self._ending: set[Process] = set()
        self._pumps: dict[Process, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is not None:
                self.kill()  # a failed demo is thrown away: do not wait
            # In reverse order: the cluster outlives its clients, so that they can close cleanly.
            for process in list(reversed(self._running)):
                await self.end(process)
        finally:
            self.kill()

    async def client(
        self,
        *arguments: str,
        on_row: OnRow,
        cwd: Path = _ROOT,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a program; `on_row` gets each line that it prints, which is JSON."""
        return await self.start(
            *arguments, on_line=lambda line: on_row(json.loads(line)), cwd=cwd, env=env
        )

    async def start(
        self,
        *arguments: str,
        on_line: OnLine,
        cwd: Path = _ROOT,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a Python program; `on_line` gets each line that it prints."""
        plain = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        with self._log.open("ab") as log:
            # Its own session: Ctrl-C reaches only the demo, which ends all processes in order.
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=log,
                cwd=cwd,
                env={**plain, **(env or {})},
                start_new_session=True,
            )
        self._running.append(process)
        self._names[process] = " ".join(arguments[1:4])
        self._pumps[process] = asyncio.create_task(_pump(process, on_line))
        return process

    def check(self) -> None:
        """Raise `ProcessCrashedError` if something that should run does not."""
        for process in self._running:
            if process.returncode is not None and process not in self._ending:
                raise ProcessCrashedError(
                    f"`{self._names[process]}` has ended with {process.returncode}; "
                    f"the last words of all processes:\n{self.errors()}"
                )

    def errors(self) -> str:
        """What the processes have said last on stderr."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return "\n".join(lines[-_LINES_SHOWN:])

    async def end(self, process: Process, *, ask: bool = True) -> None:
        """Ask a process to end, insist if it does not, and take in its last words."""
        self._ending.add(process)
        if process.returncode is None:
            if ask:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await process.wait()
            except TimeoutError:
                _kill_session(process.pid)
                await process.wait()
        await self._pumps[process]
        self._running.remove(process)

    async def kill_one(self, process: Process) -> None:
        """`kill -9` of a process and of what it has started, as a part of the play."""
        self._ending.add(process)
        await asyncio.to_thread(_kill_session, process.pid)
        await self.end(process, ask=False)

    def kill(self) -> None:
        """For the impatient: end at once what still runs, and what that has started."""
        for process in self._running:
            _kill_session(process.pid)


def _kill_session(session: int) -> None:
    """A process that `start` has started leads a session, in which its children stay."""
    deadline = time.monotonic() + 5
    while (members := _members(session)) and time.monotonic() < deadline:
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _members(session: int) -> list[int]:
    members = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.NoSuchProcess):
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                members.append(pid)
    return members


async def _pump(process: Process, on_line: OnLine) -> None:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        on_line(line.decode())

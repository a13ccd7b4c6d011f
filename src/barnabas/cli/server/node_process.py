"""One node as a process: started, listened to, started again when it has ended, and stopped."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import TextIO

from barnabas.backoff import Backoff
from barnabas.broker.settings.config import ConfigError
from barnabas.cli.base import exit_codes
from barnabas.cli.server.local_nodes import LocalNode
from barnabas.cli.server.secret_settings import as_arguments, as_environment

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
GOOD_FOR_S = 60.0
"""A node that has run for so long, or has stopped in order, was well: the first pause will do."""

_READY = b" is ready on "
_STOP_TIMEOUT_S = 60.0
_RESTART_TIMEOUT_S = 600.0
_CHUNK_BYTES = 64 * 1024

Say = Callable[[str], None]


def pause_before_start(crashes: int) -> float:
    """Seconds to wait before a node is started again that has ended so many times in a row."""
    return Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S).pause(crashes)


class NodeProcess:
    """Runs one node until it is stopped. `ready` is set once it has been ready for the first time.

    What it prints goes to this process's own streams, each line behind the node's name. A log as
    JSON is passed on as it is: each object names its node.
    """

    def __init__(self, node: LocalNode, say: Say, width: int) -> None:
        self.node = node
        self.ready = asyncio.Event()
        self.stopped = asyncio.Event()
        self._is_up = asyncio.Event()
        self.start_error: int | None = None
        """The exit code of a node that did not get ready at its very first start."""
        self._say = say
        self._prefix = f"{node.name.ljust(width)} | ".encode()
        self._has_json_log = node.properties.get("log.format") == "json"
        self._process: Process | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self) -> None:
        """Keep it running."""
        loop = asyncio.get_running_loop()
        crashes = 0
        try:
            while not self._stopping.is_set():
                started = loop.time()
                code = await self._run_once()
                if self._stopping.is_set():
                    return
                if not self.ready.is_set() and code != 0:
                    self.start_error = code
                    return
                was_well = code == 0 or loop.time() - started >= GOOD_FOR_S
                crashes = 1 if was_well else crashes + 1
                pause = pause_before_start(crashes)
                self._say(f"{self.node.name} {_ended(code)}; restarting it in {pause:g} s")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
        finally:
            self.stopped.set()

    async def _run_once(self) -> int:
        self._is_up.clear()
        # A group of its own keeps a Ctrl-C in the terminal from reaching all nodes at once.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "barnabas.cli.server.supervised_node",
            *as_arguments(self.node.properties),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            process_group=0,
            env={**os.environ, **as_environment(self.node.properties)},
        )
        self._process = process
        if self._stopping.is_set():
            self.signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            await asyncio.gather(
                self._pass_on(process.stdout, sys.stdout), self._pass_on(process.stderr, sys.stderr)
            )
            return await process.wait()
        finally:
            self._process = None
            if process.returncode is None:
                process.kill()

    async def _pass_on(self, source: asyncio.StreamReader, target: TextIO) -> None:
        rest = b""
        while chunk := await source.read(_CHUNK_BYTES):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if len(rest) > _CHUNK_BYTES:
                lines.append(rest)
                rest = b""
            for line in lines:
                if _READY in line:
                    self.ready.set()
                    self._is_up.set()
                self._print(line, target)
        if rest:
            self._print(rest, target)

    def _print(self, line: bytes, target: TextIO) -> None:
        is_json = self._has_json_log and target is sys.stderr and line.startswith(b"{")
        prefix = b"" if is_json else self._prefix
        with contextlib.suppress(OSError):  # the reader may be gone; the node goes on
            target.buffer.write(prefix + line + b"\n")
            target.flush()

    def signal(self, number: int) -> None:
        """Send a signal if the process is running."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def restart(self) -> None:
        """Stop the process, and wait until it is ready again. Raises `ConfigError`."""
        self._is_up.clear()
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_RESTART_TIMEOUT_S):
                await self._is_up.wait()
        except TimeoutError:
            raise ConfigError(
                f"it is not ready after {_RESTART_TIMEOUT_S:g} s; its log says why"
            ) from None

    async def stop(self) -> None:
        """Ask it to end and wait until it has; one that does not is killed."""
        self._stopping.set()
        self.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.stopped.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            self._say(f"{self.node.name} did not stop within {_STOP_TIMEOUT_S:g} s; killing it")
            self.kill()
            await self.stopped.wait()

    def kill(self) -> None:
        """End it at once."""
        self._stopping.set()
        self.signal(signal.SIGKILL)


def _ended(code: int) -> str:
    if code == 0:
        return "has stopped"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    if code == exit_codes.USAGE:
        return "could not start"
    return f"crashed (exit code {code})"

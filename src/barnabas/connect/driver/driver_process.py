"""A Spark driver as the service has it: a process that is started, talked to and ended."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from barnabas.errors import BarnabasError

_log = logging.getLogger("barnabas.connect")
_LINE_LIMIT = 16 << 20
_LOG_LIMIT = 10 << 20
_END_TIMEOUT_S = 20.0
_START_TIMEOUT_S = 600.0
_SILENCE_S = 120.0
_REPLY_TIMEOUT_S = 60.0

OnEvent = Callable[["DriverProcess", dict[str, Any]], None]


class DriverGone(BarnabasError):  # noqa: N818 - its name says what is wrong
    """The driver has ended before it could answer."""


class DriverProcess:
    """One process. When it has ended, another one takes its place."""

    def __init__(
        self,
        key: str,
        options: Mapping[str, Any],
        log: Path,
        on_event: OnEvent,
        module: str = "barnabas.connect.driver",
    ) -> None:
        self.key = key
        self._module = module
        self.log = log
        self.is_ready = False
        self.starting: str | None = None
        """The connector that it starts just now."""
        self._options = options
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._ids = count()
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def run(self) -> int:
        """Start it and take what it says, until it ends; returns its exit code."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".old.log"))
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._module,
                str(self.log),  # to tell drivers apart; settings may have secrets, and go unseen
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the service, which ends it in order
                limit=_LINE_LIMIT,
            )
        assert self._process.stdout is not None
        self.send(self._options)
        try:
            while line := await self._next_line(self._process.stdout):
                self._take(json.loads(line))
            return await self._process.wait()
        finally:
            self.is_ready = False
            self._kill()
            for each in self._replies.values():
                if not each.done():
                    each.set_exception(DriverGone(f"the Spark driver has ended; see {self.log}"))

    async def _next_line(self, out: asyncio.StreamReader) -> bytes:
        """What it says next; nothing when it has ended, or hangs."""
        try:
            patience_s = _SILENCE_S if self.is_ready else _START_TIMEOUT_S
            return await asyncio.wait_for(out.readline(), patience_s)
        except TimeoutError:
            _log.error("Spark driver %s hangs; killing it", self.key)
            self._kill()
            return b""

    def send(self, command: Mapping[str, Any]) -> None:
        """Tell it something; nothing happens if it is gone, which `run` notices."""
        if self._process is None or self._process.stdin is None:
            return
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(command).encode() + b"\n")

    async def ask(self, command: Mapping[str, Any], timeout_s: float = _REPLY_TIMEOUT_S) -> str:
        """Tell it something and wait until it is done; raises `BarnabasError` with its reason.

        Returns the text of the reply, if there is one.
        """
        number = next(self._ids)
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        try:
            self.send({**command, "id": number})
            answer = await asyncio.wait_for(reply, timeout_s)
        except TimeoutError:
            raise DriverGone(
                f"the Spark driver has not answered for {timeout_s:g} s; see {self.log}"
            ) from None
        finally:
            del self._replies[number]
        if answer["error"] is not None:
            raise BarnabasError(answer["error"])
        return str(answer["text"])

    async def end(self) -> None:
        """Let it stop its queries and end; by force if that takes too long."""
        if self._process is None or self._process.returncode is not None:
            return
        self.send({"do": "end"})
        try:
            await asyncio.wait_for(self._process.wait(), _END_TIMEOUT_S)
        except TimeoutError:
            _log.warning("Spark driver %s does not stop; killing it", self.key)
        finally:
            self._kill()

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "alive":
            self.starting = event["starting"]
            return
        if event["event"] == "ready":
            self.is_ready = True
        elif event["event"] == "reply":
            reply = self._replies.get(event["id"])
            if reply is not None and not reply.done():
                reply.set_result(event)
            return
        self._on_event(self, event)

    def _kill(self) -> None:
        """End what is left of it, Spark's JVM included."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

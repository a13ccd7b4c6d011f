"""How tasks of a mirror report to the driver while they run, and hear that their round is over.

Spark passes rows on when a task is done, which here takes minutes. So the driver listens at a port,
and tasks, and the process that plans them, send a line with the token, and then lines of JSON:

    {"round": 7, "task": 0, "tasks": 2, "rows": [...], "ends": false}
    {"round": 7, "problems": [...], "ends": true}           of the planner
    {"end": false}                                          the answer to both

A round ends for all of its tasks as soon as it ends for one, or if some of them do not start: then
there are fewer cores than expected, and partitions of the others would wait.
"""

import asyncio
import hmac
import json
import logging
import secrets
import socket
from collections.abc import Iterable, Sequence
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple, Self

from barnabas.errors import BarnabasError
from barnabas.mirror.round_report import ReportListener, ReportRow, RoundReport, report_of

_log = logging.getLogger("barnabas.mirror")

START_S = 30.0
"""How long tasks of a round may take to start, after the first of them."""
_ANSWER_S = 60.0
_TOKEN_S = 10.0
_TOKEN_BYTES = 256
_MOST_BYTES = 16 * 1024 * 1024
"""Of a report, which has a row for each partition."""
_SILENCE_S = 3600.0
"""Tasks report every second, or end: a connection that is silent for longer is dead."""
_PLAN = -1


class ReportAddress(NamedTuple):
    """Where the driver listens; who has no token is not heard."""

    host: str
    port: int
    token: str


class ReportChannel:
    """The driver's end, for one query."""

    def __init__(self, listeners: Iterable[ReportListener], host: str) -> None:
        """Tasks reach the driver at `host`."""
        self._listeners = list(listeners)
        self._lock = Lock()
        self._round = -1
        self._began = 0.0
        self._seen: set[int] = set()
        self._problems: dict[int, list[str]] = {}
        self._is_over = False
        self._failure: BarnabasError | None = None
        channel, token = self, secrets.token_hex(16)
        proof = token.encode() + b"\n"

        class Handler(StreamRequestHandler):
            timeout = _TOKEN_S

            def handle(self) -> None:
                try:
                    if not hmac.compare_digest(self.rfile.readline(_TOKEN_BYTES), proof):
                        _log.warning("%s has sent no token of this mirror", self.client_address[0])
                        return
                    self.connection.settimeout(_SILENCE_S)
                    while line := self.rfile.readline(_MOST_BYTES):
                        end = channel._take(json.loads(line))
                        self.wfile.write(json.dumps({"end": end}).encode() + b"\n")
                except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                    if channel._is_open:
                        _log.warning(
                            "a report from %s can't be read (%s: %s)",
                            self.client_address[0],
                            type(error).__name__,
                            error,
                        )

        self._is_open = True
        self._server = ThreadingTCPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self.address = ReportAddress(host, self._server.server_address[1], token)
        Thread(target=self._server.serve_forever, name="mirror reports", daemon=True).start()

    def check(self) -> None:
        """Raise what a listener has raised."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Hear nothing any longer; may be called again."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
        self._server.shutdown()
        self._server.server_close()

    def _take(self, message: dict[str, Any]) -> bool:
        """Pass a report on; returns whether its round is over."""
        with self._lock:
            number = message["round"]
            if number > self._round:
                self._round, self._began, self._is_over = number, monotonic(), False
                self._seen = set()
            report = report_of(message.get("rows", ()))
            task = message.get("task", _PLAN)
            self._problems[task] = [*report.problems, *message.get("problems", ())]
            if task != _PLAN:
                tasks = message["tasks"]
                self._problems = {at: each for at, each in self._problems.items() if at < tasks}
                self._seen.add(task)
                is_late = monotonic() - self._began > START_S
                self._is_over |= is_late and len(self._seen) < tasks
            self._pass_on(report)
            self._is_over |= message["ends"] and number == self._round
            return self._is_over or number < self._round

    def _pass_on(self, report: RoundReport) -> None:
        """A problem of one task lasts until it has reported again."""
        every = (problem for found in self._problems.values() for problem in found)
        report.problems = list(dict.fromkeys(every))
        try:
            for each in self._listeners:
                each.on_report(report)
        except BarnabasError as error:
            self._failure, self._is_over = error, True


class TaskReports:
    """A task's end, in one event loop; an async context manager."""

    def __init__(self, address: ReportAddress, number: int, task: int, tasks: int) -> None:
        self._address = address
        self._head = {"round": number, "task": task, "tasks": tasks}

    async def __aenter__(self) -> Self:
        host, port, token = self._address
        try:
            self._reader, self._writer = await asyncio.open_connection(host, port)
            self._writer.write(token.encode() + b"\n")
        except OSError as error:
            raise _gone(self._address, error) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def send(self, rows: Sequence[ReportRow], *, ends: bool = False) -> bool:
        """Report; returns whether the round goes on."""
        message = {**self._head, "rows": rows, "ends": ends}
        try:
            async with asyncio.timeout(_ANSWER_S):
                self._writer.write(json.dumps(message).encode() + b"\n")
                await self._writer.drain()
                answer = json.loads(await self._reader.readline())
        except (OSError, TimeoutError, ValueError) as error:
            raise _gone(self._address, error) from error
        return not answer["end"]


def report_plan(address: ReportAddress, number: int, problems: list[str], *, ends: bool) -> None:
    """Tell what the planner has found, and whether the round has to end for another plan."""
    host, port, token = address
    message = {"round": number, "problems": problems, "ends": ends}
    try:
        with socket.create_connection((host, port), _ANSWER_S) as connection:
            connection.sendall(f"{token}\n{json.dumps(message)}\n".encode())
            connection.makefile("rb").readline()
    except OSError as error:
        raise _gone(address, error) from error


def _gone(address: ReportAddress, error: Exception) -> BarnabasError:
    reason = str(error) or type(error).__name__
    return BarnabasError(
        f"the driver of this mirror does not answer at {address.host}:{address.port} ({reason}): "
        "copying stops until it is started again"
    )

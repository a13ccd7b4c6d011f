"""A mirror of the service: a process without Spark that runs the flow of one connector.

The service talks to it as to a Spark driver, in the words that `__main__` lists. With `tasks.max`
above 1 it starts further processes like itself, which share the partitions of the flow: it passes
on what the service says, and tells the service how they are.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

from barnabas.backoff import Backoff
from barnabas.connect.driver.driver_process import DriverProcess
from barnabas.connect.driver.lease import Lease
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow_run import FlowRun
from barnabas.mirror.mirror_maker.connector_settings import flow_of
from barnabas.mirror.operations.metrics import FlowMetrics, scraped

MODULE = "barnabas.connect.driver.mirror"

_log = logging.getLogger("barnabas.mirror")
_PAUSES_S = Backoff(1.0, 60.0)
_SETTLED_AFTER_S = 10.0
_LIFE_S = 1.0
_POLL_S = 0.1


class MirrorTask:
    """A flow that is started again when it fails."""

    def __init__(self, config: Mapping[str, str], restarts: int) -> None:
        """Raises `InvalidArgument` for settings that are wrong."""
        self._mirrored = flow_of(config)
        self.metrics = FlowMetrics(self._mirrored.flow)
        self.state = "RUNNING"
        self.trace: str | None = None
        self._restarts = int(config.get("restarts.max", restarts))
        self._told: set[str] = set()
        self._run: FlowRun | None = None
        self._ends = asyncio.Event()
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Finish what is being written, and end."""
        self._ends.set()
        if self._run is not None:
            self._run.stop()
        await asyncio.gather(self._task, return_exceptions=True)

    def on_report(self, report: CopyReport) -> None:
        """Log problems, each one once while it lasts."""
        for problem in report.problems:
            if problem not in self._told:
                _log.warning("%s", problem)
        self._told = set(report.problems)

    async def _keep(self) -> None:
        failures = 0
        while not self._ends.is_set():
            began = monotonic()
            self._run = FlowRun(self._mirrored, [self, self.metrics])
            try:
                await self._run.run()
            except BarnabasError as error:
                self.trace = str(error)
                failures = 1 if monotonic() - began > _SETTLED_AFTER_S else failures + 1
                if isinstance(error, InvalidArgument) or failures > self._restarts:
                    self.state = "FAILED"
                    return
            else:
                if self._run.was_stopped:
                    self.state = "FAILED"
                    self.trace = (
                        f"flow {self._mirrored.flow.name} was stopped from outside, as `barnabas "
                        "mirror failover` does; restart the connector to start it again"
                    )
                return
            _log.warning("%s", self.trace)
            self.state = "RESTARTING"
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSES_S.pause(failures)):
                    await self._ends.wait()
            self.state = "RUNNING"


class MirrorHost:
    """The main loop of the process."""

    def __init__(self, options: Mapping[str, Any], out: TextIO) -> None:
        self._options = options
        self._out = out
        self._lease = Lease(lambda: None)
        self._until = 0.0
        self._started: dict[str, Any] | None = None
        self._task: MirrorTask | None = None
        self._error: str | None = None
        self._others: dict[DriverProcess, asyncio.Task[None]] = {}
        self._statuses: dict[DriverProcess, list[dict[str, Any]]] = {}
        self._told: dict[str, Any] | None = None
        self._ends = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self._lease.watch()
        self._say({"event": "ready"})
        watching = asyncio.create_task(self._watch())
        try:
            while not self._ends and (line := await reader.readline()):
                await self._do(json.loads(line))
            if not self._ends:
                self._lease.end("the service is gone")
        finally:
            watching.cancel()
            await self._stop()

    async def _do(self, command: dict[str, Any]) -> None:
        match command["do"]:
            case "lease":
                self._until = command["until"]
                self._lease.extend(self._until)
                for each in self._others:
                    each.send(command)
            case "start":
                await self._stop()
                self._start(command)
            case "stop" | "stop_all":
                await self._stop()
                if "id" in command:
                    self._reply(command)
            case "metrics":
                found = [] if self._task is None else await scraped([self._task.metrics])
                self._reply(command, b"".join(found).decode())
            case "end":
                self._ends = True

    def _start(self, command: dict[str, Any]) -> None:
        self._lease.in_use = True
        self._started, self._error = command, None
        try:
            self._task = MirrorTask(command["config"], self._options["restarts"])
        except InvalidArgument as error:
            self._error = str(error)
            return
        for number in range(1, int(command["config"].get("tasks.max", "1"))):
            log = Path(self._options["log"])
            other = DriverProcess(f"task {number}", self._options, log, self._take, MODULE)
            self._others[other] = asyncio.create_task(self._keep(other))

    async def _stop(self) -> None:
        others, self._others, self._statuses = self._others, {}, {}
        task, self._task, self._started = self._task, None, None
        stops = [each.end() for each in others]
        if task is not None:
            stops.append(task.stop())
        await asyncio.gather(*stops)
        for keeping in others.values():
            keeping.cancel()
        await asyncio.gather(*others.values(), return_exceptions=True)
        self._lease.in_use = False

    # -- further processes -----------------------------------------------------------------------

    async def _keep(self, other: DriverProcess) -> None:
        """Run one more process, and another one when it has ended."""
        for pause_s in _PAUSES_S.pauses():
            self._statuses[other] = [{"state": "UNASSIGNED", "trace": None}]
            code = await other.run()
            if other not in self._others:
                return
            _log.error("a process of this mirror has ended (exit code %s)", code)
            self._statuses[other] = [
                {"state": "RESTARTING", "trace": f"its process has ended (exit code {code})"}
            ]
            await asyncio.sleep(pause_s)

    def _take(self, other: DriverProcess, event: dict[str, Any]) -> None:
        if self._started is None:
            return
        if event["event"] == "ready":
            other.send({"do": "lease", "until": self._until})
            alone = {**self._started["config"], "tasks.max": "1"}
            other.send({**self._started, "config": alone})
        elif event["event"] == "status":
            for status in event["connectors"].values():
                self._statuses[other] = status["tasks"]

    # -- what the service hears ------------------------------------------------------------------

    async def _watch(self) -> None:
        shown = 0.0
        while True:
            if monotonic() - shown >= _LIFE_S:
                shown = monotonic()
                self._say({"event": "alive", "starting": None})
            if self._started is not None and not self._lease.is_valid:
                await self._stop()
                self._say({"event": "expired"})
            now = self._status()
            if now != self._told:
                self._told = now
                self._say({"event": "status", "connectors": now})
            await asyncio.sleep(_POLL_S)

    def _status(self) -> dict[str, Any]:
        if self._started is None:
            return {}
        tasks = []
        if self._task is not None:
            tasks.append({"state": self._task.state, "trace": self._task.trace})
            tasks += [each for found in self._statuses.values() for each in found]
        status = {
            "generation": self._started["generation"],
            "state": "FAILED" if self._error else "RUNNING",
            "trace": self._error,
            "tasks": tasks,
            "topics": [],
        }
        return {self._started["name"]: status}

    def _reply(self, command: dict[str, Any], text: str = "") -> None:
        self._say({"event": "reply", "id": command["id"], "error": None, "text": text})

    def _say(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()


def main() -> None:
    """Run it; whatever libraries print goes to the log, and not to the service."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:  # the loop reads the rest
        options = json.loads(unbuffered.readline())
    with suppress(BrokenPipeError):
        asyncio.run(MirrorHost(options, out).run())


if __name__ == "__main__":
    main()

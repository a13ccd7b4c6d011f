"""A Spark driver: runs the connectors that the service sends, until the service ends.

    in    the options of the driver, first
          {"do": "lease", "until": S}             it may run queries until then
          {"do": "start", "name", "config", "start", "generation"}
          {"do": "stop", "name"}, {"do": "end"}
          {"do": "stop_all", "id"}                answered by a reply, as are
          {"do": "check_reset" | "reset", "config", "start", "id"}
          {"do": "metrics", "id"}                 answered by the text of Prometheus
    out   {"event": "ready"}
          {"event": "alive", "starting": NAME}    at least every second, unless it hangs
          {"event": "status", "connectors": {NAME: status}}
          {"event": "expired"}                    the lease has ended, and nothing runs
          {"event": "reply", "id", "error", "text"}

When its input ends, the service is gone, and so is the driver, at once.
"""

import json
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from pyspark import SparkContext

from barnabas.connect.driver.hosted_connectors import HostedConnectors
from barnabas.connect.driver.lease import Lease
from barnabas.connect.driver.warm_up import warm_up
from barnabas.errors import BarnabasError
from barnabas.spark import session
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.run.pipeline_run import SparkGone
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.run.spark_log import keep_errors_quiet, log_to
from barnabas.spark.sessions.combined_conf import combined

_POLL_S = 0.1
_LIFE_S = 1.0


class Driver:
    """The process's main loop."""

    def __init__(self, options: dict[str, Any], out: TextIO) -> None:
        self._options = options
        self._out = out
        self._todo: queue.Queue[dict[str, Any]] = queue.Queue()
        self._lease = Lease(_kill_spark)
        self._told: dict[str, Any] | None = None
        self._ends = False
        self._shown = 0.0

    def run(self) -> None:
        sys.path.insert(0, self._options["pipelines"])  # classes of connectors may be there
        threading.Thread(target=self._listen, name="service", daemon=True).start()
        conf = combined(log_to(Path(self._options["log"])), self._options["conf"])
        spark = session("barnabas connect", self._options["master"], **conf)
        cluster = ClusterAddress(self._options["bootstrap"], self._options["security"])
        if self._options["warm_up"]:
            warm_up(spark, cluster, self._options["warm_up"])
        hosted = HostedConnectors(
            spark,
            cluster,
            RunFolder(Path(self._options["folder"]), self._options["checkpoints"]),
            Path(self._options["pipelines"]),
            self._options["restarts"],
            reports=self._options["reports"],
        )
        self._lease.watch()
        self._say({"event": "ready"})
        try:
            while not self._ends:
                self._obey(hosted)
                self._show_life(hosted.next_due())
                if self._lease.is_valid:
                    hosted.poll()
                elif len(hosted):
                    hosted.stop_all()
                    self._say({"event": "expired"})
                self._lease.in_use = len(hosted) > 0
                self._tell(hosted)
            hosted.stop_all()
        finally:
            hosted.close()
        self._lease.in_use = False
        spark.stop()

    def _listen(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "lease":
                self._lease.extend(command["until"])  # even if the main thread is busy
            else:
                self._todo.put(command)
        self._lease.end("the service is gone")

    def _obey(self, hosted: HostedConnectors) -> None:
        """Do what there is to do, or wait for it a moment."""
        with suppress(queue.Empty):
            command = self._todo.get(timeout=_POLL_S)
            while True:
                self._do(command, hosted)
                command = self._todo.get_nowait()

    def _do(self, command: dict[str, Any], hosted: HostedConnectors) -> None:
        match command["do"]:
            case "start":
                self._lease.in_use = True
                told = (command["config"], command["start"], command["generation"])
                hosted.start(command["name"], *told)
            case "stop":
                hosted.stop(command["name"])
                if "id" in command:
                    self._reply(command)
            case "stop_all":
                hosted.stop_all()
                self._reply(command)
            case "check_reset":
                self._reset(command, partial(hosted.check_reset, changed=command["changed"]))
            case "reset":
                self._reset(command, hosted.reset)
            case "metrics":
                self._reply(command, text=hosted.metrics(time.time()))
            case "end":
                self._ends = True

    def _reset(self, command: dict[str, Any], call: Callable[..., object]) -> None:
        error = None
        try:
            call(command["config"], command["start"])
        except BarnabasError as failed:
            error = str(failed)
        self._reply(command, error)

    def _reply(self, command: dict[str, Any], error: str | None = None, text: str = "") -> None:
        self._say({"event": "reply", "id": command["id"], "error": error, "text": text})

    def _tell(self, hosted: HostedConnectors) -> None:
        now = hosted.statuses()
        if now != self._told:
            self._told = now
            self._say({"event": "status", "connectors": now})

    def _show_life(self, starting: str | None) -> None:
        """Say that the loop goes on, and what it is about to start."""
        now = time.monotonic()
        if starting is not None or now - self._shown >= _LIFE_S:
            self._shown = now
            self._say({"event": "alive", "starting": starting})

    def _say(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()


def _kill_spark() -> None:
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.kill()


def main() -> None:
    """Run it; whatever libraries print goes to the log, and not to the service."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    keep_errors_quiet()
    try:
        Driver(json.loads(sys.stdin.readline()), out).run()
    except (SparkGone, BrokenPipeError) as error:
        sys.stderr.write(f"{time.ctime()} driver: {error}\n")
        os._exit(1)


if __name__ == "__main__":
    main()

"""`barnabas connect run` in a process, and its REST API."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.support.machine import SHORT_LIVED
from tests.support.wait import LIMIT_S, wait_until

_LISTENING = re.compile(r"listening on (http://\S+)")
_QUICK = f"spark.driver.extraJavaOptions={SHORT_LIVED}"


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


class Service:
    """One instance on a free port."""

    def __init__(self, folder: Path, name: str, bootstrap: str, *options: str) -> None:
        self.log = folder / f"{name}.log"
        self.checkpoints = folder / "checkpoints"
        command = [sys.executable, "-m", "barnabas", "connect", "run", "--bootstrap", bootstrap]
        command += ["--port", "0", "--checkpoints", str(self.checkpoints)]
        command += [
            "--pipelines",
            str(folder),
            "--master",
            "local[2]",
            "--conf",
            _QUICK,
            "--allow-code",
        ]
        command += options
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
            )
        self.url = wait_until(self._url, self.said)

    def said(self) -> str:
        logs = [self.log, *sorted(self.checkpoints.glob("driver*.log"))]
        return "\n".join(each.read_text(errors="replace")[-3000:] for each in logs)

    def _url(self) -> str | None:
        found = _LISTENING.search(self.log.read_text(errors="replace"))
        assert self.process.poll() is None, self.said()
        return None if found is None else found[1]

    def call(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} | (headers or {})
        request = urllib.request.Request(self.url + path, data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return _answer(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            return _answer(error.code, error.read(), error.headers)

    def get(self, path: str) -> Any:
        found = self.call("GET", path)
        assert found.status == 200, found
        return found.body

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.call("GET", "/health").status == 200, self.said, timeout_s=300)

    def wait_for_state(self, name: str, state: str) -> None:
        def has_it() -> bool:
            found = self.call("GET", f"/connectors/{name}/status")
            if found.status != 200:
                return False
            tasks = [each["state"] for each in found.body["tasks"]]
            states = {found.body["connector"]["state"], *tasks}
            return states == {state} and (bool(tasks) or state in ("FAILED", "STOPPED"))

        wait_until(has_it, lambda: f"{self.get('/connectors?expand=status')}\n{self.said()}")

    def wait_for_task(self, name: str, reason: str) -> None:
        """Wait until its only task has failed for a reason."""

        def has_failed() -> bool:
            tasks = self.get(f"/connectors/{name}/status")["tasks"]
            return bool(tasks) and tasks[0]["state"] == "FAILED" and reason in tasks[0]["trace"]

        wait_until(has_failed, lambda: f"{self.get(f'/connectors/{name}/status')}\n{self.said()}")

    def freeze(self) -> None:
        """SIGSTOP of the service alone; its Spark goes on."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """`kill -9`: its drivers notice."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)

    def close(self) -> None:
        """End whatever is left."""
        if self.process.poll() is None:
            children = psutil.Process(self.process.pid).children(recursive=True)
            self.kill()
            psutil.wait_procs(children, 20)


def drivers_in(folder: Path) -> list[int]:
    """The Spark drivers that use this folder."""
    found = []
    for each in psutil.process_iter(["pid", "cmdline"]):
        command = each.info["cmdline"] or []
        if "barnabas.connect.driver" in command and str(folder) in " ".join(command):
            found.append(each.info["pid"])
    return [pid for pid in found if pid != os.getpid()]


def _answer(status: int, body: bytes, headers: Any) -> Answer:
    return Answer(status, json.loads(body) if body else None, dict(headers.items()))

"""The processes of the shop: each is started again when it ends, as systemd does."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

RESTART_S = 0.2
COMMANDS = {
    "website": ["-m", "examples.night.website"],
    "billing": ["-m", "barnabas", "app", "run", "examples.night.billing:app", "--workers", "2"],
    "mailing-1": ["-m", "examples.night.mailing"],
    "mailing-2": ["-m", "examples.night.mailing"],
}


class Services:
    """A context manager; `environment` says where the cluster is."""

    def __init__(self, environment: dict[str, str], logs: Path) -> None:
        self._environment = {**os.environ, **environment}
        self._logs = logs
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.starts = dict.fromkeys(COMMANDS, 0)

    def __enter__(self) -> Self:
        for name in COMMANDS:
            self._start(name)
            thread = threading.Thread(target=self._keep, args=(name,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for process in self.processes.values():
            process.terminate()
        for thread in self._threads:
            thread.join()

    def _start(self, name: str) -> None:
        with (self._logs / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *COMMANDS[name]], env=self._environment, stdout=log, stderr=log
            )
        self.starts[name] += 1

    def _keep(self, name: str) -> None:
        while True:
            self.processes[name].wait()
            if self._stopping.wait(RESTART_S):
                return
            self._start(name)

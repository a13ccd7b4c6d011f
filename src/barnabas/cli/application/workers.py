"""Several processes of one application: started, watched, reloaded and stopped.

A worker that ends is started again after a pause, which grows if it ends again and again. The first
Ctrl-C or SIGTERM lets workers finish what they handle; the second one kills them.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from barnabas.backoff import Backoff
from barnabas.cli.application.run import SUPERVISOR, WORKER
from barnabas.cli.base import exit_codes
from barnabas.cli.base.output import say

_LOOK_EVERY_S = 0.2
_PAUSES = Backoff(0.5, 30.0)
_LONG_LIFE_S = 60.0
_CLOSING_S = 10.0
"""For a worker to leave its groups after the grace period."""
_SKIPPED = {".git", ".venv", "venv", "node_modules", "__pycache__"}


class Workers:
    """Of one application; `command` runs one of them."""

    def __init__(
        self,
        command: list[str],
        count: int,
        address: tuple[str, int] | None,
        grace_s: float,
        *,
        reloads: bool = False,
    ) -> None:
        self._command = command
        self._address = address
        self._grace_s = grace_s
        self._reloads = reloads
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._started: dict[int, float] = {}
        self._failures = dict.fromkeys(range(count), 0)
        self._due = dict.fromkeys(range(count), 0.0)
        self._signals = 0

    def run(self) -> int:
        """Until a signal; the exit code."""
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        files = _stamps() if self._reloads else {}
        try:
            while not self._signals:
                self._look()
                time.sleep(_LOOK_EVERY_S)
                if self._reloads and (now := _stamps()) != files:
                    files = now
                    say("a file has changed: restarting")
                    self._stop()
                    self._due = dict.fromkeys(self._due, 0.0)
        finally:
            self._stop()
        return exit_codes.OK

    def _look(self) -> None:
        now = time.monotonic()
        for slot in self._failures:
            process = self._processes.get(slot)
            if process is not None and process.poll() is not None:
                if now - self._started[slot] > _LONG_LIFE_S:
                    self._failures[slot] = 0
                self._failures[slot] += 1
                pause_s = _PAUSES.pause(self._failures[slot])
                say(
                    f"worker {slot} (process {process.pid}) ended with exit code "
                    f"{process.returncode}; restarting it in {pause_s:g} s"
                )
                del self._processes[slot]
                self._due[slot] = now + pause_s
            elif process is None and now >= self._due[slot]:
                self._start(slot)

    def _start(self, slot: int) -> None:
        command = [sys.executable, "-m", "barnabas", *self._command]
        if self._address is not None:
            host, port = self._address
            command += ["--http", f"{host}:{port + slot if port else 0}"]
        self._started[slot] = time.monotonic()
        self._processes[slot] = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            env={**os.environ, WORKER: str(slot), SUPERVISOR: str(os.getpid())},
            start_new_session=True,
        )

    def _stop(self) -> None:
        """Let all finish; a second signal kills them, and so does the end of their time."""
        deadline = time.monotonic() + self._grace_s + _CLOSING_S
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()
        while any(each.poll() is None for each in self._processes.values()):
            if self._signals > 1 or time.monotonic() > deadline:
                for process in self._processes.values():
                    process.kill()
            time.sleep(_LOOK_EVERY_S / 4)
        self._processes.clear()

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        self._signals += 1


def _stamps() -> dict[str, int]:
    """When the Python files of the working directory were changed."""
    found = {}
    for folder, names, files in os.walk(Path.cwd()):
        names[:] = [each for each in names if each not in _SKIPPED]
        for path in (Path(folder, each) for each in files if each.endswith(".py")):
            try:
                found[str(path)] = path.stat().st_mtime_ns
            except FileNotFoundError:  # deleted meanwhile
                continue
    return found

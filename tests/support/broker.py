"""A real broker in a process of its own, started by the command that users start it with."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import psutil

from tests.support import fork_server
from tests.support.wait import wait_until

_READY = re.compile(r"ready on (\S+):(\d+)")
_START_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 180.0


class BrokerProcess:
    """`barnabas server` on a free port of localhost, with its data below `directory`.

    The port stays the same across restarts, so that clients find the broker again.
    """

    running: "list[BrokerProcess]" = []  # noqa: RUF012
    """Those whose log belongs into the report of a test that fails."""
    real = False
    """Whether it is a new interpreter rather than a fork of one."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self.data = directory / "data"
        self.settings = dict(settings or {})
        self.log = directory / "broker.log"
        self.host = "127.0.0.1"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begin = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start it and don't wait: a node of a cluster is not ready before others are there too."""
        assert self._process is None, "the broker is running already"
        self.data.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as out:
            self._log_begin = out.tell()
            self._process = fork_server.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=_plain_environment(),
                real=self.real,
            )
        self.running.append(self)

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "barnabas", "server"]
        command += ["--listen", f"{self.host}:{self.port}", "--data", str(self.data)]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def wait_until_ready(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        wait_until(self._is_ready, "the broker is not ready", timeout_s=timeout_s)

    def _is_ready(self) -> bool:
        with self.log.open("rb") as log:
            log.seek(self._log_begin)
            text = log.read().decode(errors="replace")
        assert self.alive, f"the broker ended at its start:\n{text}"
        ready = _READY.search(text)
        if ready:
            self.port = int(ready[2])
        return ready is not None

    def stop(self) -> None:
        """Ask it to end (SIGTERM) and expect that it does so in order."""
        self._end(signal.SIGTERM, expected=0)

    def kill(self) -> None:
        """Take its life (SIGKILL) if it has one."""
        if self._process is not None:
            self._end(signal.SIGKILL, expected=None)

    def _end(self, signal_number: int, expected: int | None) -> None:
        assert self._process is not None, "the broker is not running"
        self._process.send_signal(signal_number)
        try:
            code = self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the broker did not end:\n{self.log_tail()}") from None
        finally:
            self._process = None
            self.running.remove(self)
        assert expected in (None, code), f"exit code {code}:\n{self.log_tail()}"

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP); its connections stay open, and it says nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def restart(self, *, kill: bool = False) -> None:
        """End it, in order or with SIGKILL, and start it again on the same port and data."""
        if kill:
            self.kill()
        else:
            self.stop()
        self.start()

    # -- looks from outside ----------------------------------------------------------------------

    def rss(self) -> int:
        """Resident memory, in bytes."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def cpu(self) -> float:
        """CPU seconds used so far, user and system together."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _plain_environment() -> dict[str, str]:
    """Settings in the environment of the test run are not for this broker."""
    return {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}

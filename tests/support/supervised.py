"""`barnabas server --nodes`: a supervisor with its nodes, as tests use it."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from tests.support import fork_server
from tests.support.processes import command_line
from tests.support.wait import LIMIT_S, wait_until


class Supervised:
    """A supervisor and what it has printed so far."""

    def __init__(self, directory: Path, *arguments: str, real: bool = False) -> None:
        kept = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        command = [sys.executable, "-m", "barnabas", "server", "--listen", "127.0.0.1:0"]
        self.data = directory / "data"
        self.process = fork_server.Popen(
            [*command, "--data", str(directory / "data"), *arguments],
            env=kept,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            real=real,
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line.decode()

    def wait_for(self, pattern: str, times: int = 1) -> "re.Match[str]":
        def found() -> bool:
            return len(re.findall(pattern, self.output)) >= times

        def complaint() -> str:
            return f"{pattern} is not in: {self.output}"

        wait_until(lambda: found() or not self.alive, complaint)
        assert found(), complaint()
        match = re.search(pattern, self.output)
        assert match is not None
        return match

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ready(self) -> str:
        """Wait for the banner; the bootstrap servers."""
        return self.wait_for(r"\d+ nodes?, bootstrap servers (\S+) ")[1]

    def nodes(self) -> dict[int, psutil.Process]:
        """The processes of the nodes by their numbers."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            line = command_line(child)
            number = re.search(r"node\.id=(\d+)", line)
            if number and child.status() != psutil.STATUS_ZOMBIE:
                found[int(number[1])] = child
        return found

    def end(self) -> int:
        code = self.process.wait(LIMIT_S)
        self._reader.join()
        return code

    def kill(self) -> None:
        """End the supervisor and all its nodes, whatever state they are in."""
        children = list(self.nodes().values()) if self.alive else []
        self.process.kill()
        for child in children:
            if child.is_running():
                child.kill()
        self.end()

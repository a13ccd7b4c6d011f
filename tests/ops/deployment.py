"""Deployments run as plain processes: their commands and environments, on ports of this machine.

There is no container here. What is tested is that the commands and settings in the files make a
cluster; paths and host names are replaced by ones that exist.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.examples.documents import ROOT
from tests.support.wait import LIMIT_S, wait_until

OPS = ROOT / "ops"


class Deployed:
    """A process that a deployment starts."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], directory: Path, name: str
    ) -> None:
        self.log = directory / f"{name}.log"
        kept = {key: v for key, v in os.environ.items() if not key.startswith("BARNABAS_")}
        self.environment = {**kept, **environment}
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                env=self.environment,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def health(self, what: str = "ready") -> "subprocess.CompletedProcess[str]":
        """The health check of the image, in the environment of the container."""
        command = [*barnabas(), "health", what]
        return subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            assert self.process.poll() is None, self.said
            return self.health().returncode == 0

        wait_until(is_ready, lambda: f"not ready: {self.health().stdout} {self.said}")

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """As a container is stopped; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def barnabas() -> list[str]:
    """The command of this environment, in place of the one in the image."""
    return [sys.executable, "-m", "barnabas"]


def replaced(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text

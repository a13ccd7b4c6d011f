"""One node of a cluster under test: a process, its data and its log."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.launcher import Launcher
from barnabas.embedded.node_request import SignIn, ask
from barnabas.embedded.ports import HOST
from barnabas.embedded.wait import wait_until
from barnabas.wire.message import Request, Response

ResponseT = TypeVar("ResponseT", bound=Response)

_STOP_TIMEOUT_S = 20.0


class Node:
    """Nothing here waits for other nodes."""

    def __init__(
        self,
        launcher: Launcher,
        node_id: int,
        port: int,
        directory: Path,
        properties: Mapping[str, str],
        sign_in: SignIn | None = None,
    ) -> None:
        self.node_id = node_id
        self.address = (HOST, port)
        self.log = directory / f"node-{node_id}.log"
        self.is_paused = False
        self.is_full = False
        """Whether its disk is, as long as the cluster lives or until there is room again."""
        self._launcher = launcher
        self._sign_in = sign_in
        self._pid: int | None = None
        self._properties = {
            "node.id": str(node_id),
            "listeners": f"{HOST}:{port}",
            "log.dirs": str(directory / f"node-{node_id}"),
            **properties,
        }

    @property
    def pid(self) -> int | None:
        return self._pid

    @property
    def is_running(self) -> bool:
        """Whether there is a process, be it paused."""
        return self._pid is not None and self._launcher.poll(self._pid) is None

    @property
    def condition(self) -> str:
        """In a word or two."""
        if not self.is_running:
            return "down"
        return ("paused" if self.is_paused else "running") + ", disk full" * self.is_full

    def launch(self) -> None:
        """Start it, and don't wait until it is ready."""
        self._pid = self._launcher.start_node(self._properties, self.log)
        self.is_paused = False

    def limit_disk(self) -> None:
        """Make the kernel refuse what it writes, or take it."""
        if self._pid is not None:
            self._launcher.limit_files(self._pid, 0 if self.is_full else None)

    def kill(self) -> None:
        if self._pid is not None:
            self._launcher.end(self._pid)
        self._pid = None
        self.is_paused = False

    def ask_to_stop(self) -> None:
        self.resume()
        if self._pid is not None:
            self._launcher.signal(self._pid, signal.SIGTERM)

    def wait_until_stopped(self) -> None:
        complaint = (
            f"node {self.node_id} did not stop in time; use kill() to end it anyway. Its log:\n"
            f"{self.log_tail(20)}"
        )
        wait_until(lambda: not self.is_running, _STOP_TIMEOUT_S, lambda: complaint)
        self._pid = None

    def pause(self) -> None:
        self._send(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        if self.is_paused:
            self._send(signal.SIGCONT)
        self.is_paused = False

    def _send(self, number: signal.Signals) -> None:
        if self._pid is None or not self.is_running:
            raise ClusterError(f"node {self.node_id} is down; call restart({self.node_id}) first")
        self._launcher.signal(self._pid, number)

    def ask(self, request: Request[ResponseT], timeout_s: float = 1.0) -> ResponseT:
        """Raises OSError if it does not answer soon. Also reaches a node that is cut off."""
        return ask(self.address, request, timeout_s, self._sign_in)

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self, lines: int) -> str:
        return "\n".join(self.log_text().splitlines()[-lines:])

"""Starts the processes of clusters: one launcher for all clusters of a test process."""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from barnabas.embedded import storage
from barnabas.embedded.errors import ClusterError

_PATIENCE_S = 60.0


class Launcher:
    """Starts processes and reports how they end. All of them end with this process.

    Use `borrow` and `give_back`: the last one to give it back ends it.
    """

    _shared: ClassVar["Launcher | None"] = None
    _borrowers: ClassVar[int] = 0
    _sharing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_PATIENCE_S)
        self._lock = threading.Lock()
        self._directory: Path | None = None
        self._owner = os.getpid()
        with theirs:
            # Its own session, so that Ctrl-C reaches the test alone. Safe path (-P): a file
            # next to the tests must not be taken for a module.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "barnabas.embedded.launcher_process"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    # -- sharing ---------------------------------------------------------------------------------

    @classmethod
    def borrow(cls) -> "Launcher":
        with cls._sharing:
            if cls._shared is not None and cls._shared._process.poll() is not None:
                cls._shared._end()
            if cls._shared is None:
                cls._shared, cls._borrowers = cls(), 0
            cls._borrowers += 1
            return cls._shared

    def give_back(self) -> None:
        with self._sharing:
            if Launcher._shared is not self:
                return
            Launcher._borrowers -= 1
            if Launcher._borrowers == 0:
                self._end()

    @classmethod
    def end_shared(cls) -> None:
        """At the end of the process: some test may not have closed its cluster."""
        with cls._sharing:
            if cls._shared is not None:
                cls._shared._end()

    @classmethod
    def forget_shared(cls) -> None:
        """In a fork of the test, which must not keep alive what the test has started."""
        if cls._shared is not None:
            cls._shared._control.close()
            cls._shared._process.returncode = 0  # not this process's child
            cls._shared = None
        cls._sharing = threading.Lock()

    def _end(self) -> None:
        Launcher._shared = None
        self._control.close()
        self._process.wait()
        if self._directory is not None:
            storage.remove(self._directory)  # which it has done, unless it was killed

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that has started it, and no fork of that."""
        return self._owner == os.getpid()

    # -- what it does ----------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        """For everything that belongs to a process, and goes with the launcher."""
        with self._lock:
            if self._directory is None:
                self._directory = Path(self._receive()[0]["directory"])
            return self._directory

    def start_node(self, properties: Mapping[str, str], log: Path) -> int:
        """Start one and don't wait for it; the number of its process."""
        return int(self._do("node", properties=dict(properties), log=str(log))[0]["pid"])

    def start_network(self, fronts: Sequence[tuple[int, int, int]]) -> tuple[int, socket.socket]:
        answer, descriptors = self._do("network", fronts=list(fronts))
        control = socket.socket(fileno=descriptors[0])
        control.settimeout(_PATIENCE_S)
        return int(answer["pid"]), control

    def signal(self, pid: int, number: int) -> None:
        self._do("signal", pid=pid, signal=int(number))

    def poll(self, pid: int) -> int | None:
        """Its exit code if it has ended; negative if a signal has ended it."""
        code: int | None = self._do("poll", pid=pid)[0]["code"]
        return code

    def end(self, pid: int) -> None:
        """Kill it (SIGKILL) if it has not ended yet, and wait until it has."""
        self._do("end", pid=pid)

    def limit_files(self, pid: int, size: int | None) -> None:
        """No file of its grows beyond so many bytes; None takes that back."""
        self._do("limit", pid=pid, bytes=size)

    def _do(self, name: str, **given: Any) -> tuple[dict[str, Any], list[int]]:
        if not self.is_ours:
            raise ClusterError(
                "this process is a fork of the one that started the cluster; clients may use the "
                "cluster here, but call the methods of Cluster in the process that started it"
            )
        _ = self.directory  # what it says first
        with self._lock:
            try:
                self._control.sendall(json.dumps({"do": name, **given}).encode() + b"\n")
            except OSError as error:
                raise self._is_gone() from error
            return self._receive()

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        received, descriptors = b"", list[int]()
        while not received.endswith(b"\n"):
            try:
                chunk, more, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            except OSError as error:
                raise self._is_gone() from error
            if not chunk:
                raise self._is_gone()
            received += chunk
            descriptors += more
        answer: dict[str, Any] = json.loads(received)
        return answer, descriptors

    def _is_gone(self) -> ClusterError:
        return ClusterError(
            "the process that starts the nodes has ended or hangs; see its output in the test's "
            f"standard error, and run `{sys.executable} -P -c 'import barnabas.broker.server'`, "
            "which prints nothing if Barnabas is installed correctly"
        )


atexit.register(Launcher.end_shared)
os.register_at_fork(after_in_child=Launcher.forget_shared)

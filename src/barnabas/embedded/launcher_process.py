"""The process that nodes are forked from: `python -m barnabas.embedded.launcher_process`.

Most of a node's start-up is importing its code. Here that is done once; every node is a fork of
this process and runs what `barnabas server` runs.

Standard input is a socket to the test. It brings one JSON object a line, and each is answered
with one:

    {"do": "node", "properties": {...}, "log": PATH}    {"pid": 17}
    {"do": "network", "fronts": [[1, 10300, 10400], ...]}   {"pid": 18}, and a socket to it
    {"do": "signal", "pid": 17, "signal": 15}           {}
    {"do": "poll", "pid": 17}                           {"code": null} or its exit code
    {"do": "end", "pid": 17}                            {"code": -9}
    {"do": "limit", "pid": 17, "bytes": 0}              {}; null takes the limit away

The first line comes unasked, {"directory": PATH}, as soon as everything is imported. When the
socket ends, because its owner has closed it or was killed, all processes are killed and the
directory is removed. A node whose launcher is gone ends by itself.

A process id is not reused before the exit of the process was reported, so a signal never reaches
another process.
"""

import gc
import json
import os
import resource
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from barnabas.embedded import storage

_CHUNK_BYTES = 1 << 16
_STDIN = 0
_MOST_FILES = 1024
"""Far more than the launcher ever has."""


class LauncherProcess:
    """Forks processes, reports how they end, and writes their output to logs."""

    def __init__(
        self,
        control: socket.socket,
        run_node: Callable[[list[str]], int],
        run_network: Callable[[int, list[tuple[int, int, int]]], int],
    ) -> None:
        self._control = control
        self._run_node = run_node
        self._run_network = run_network
        self._received = b""
        self._watched = selectors.DefaultSelector()
        self._watched.register(control, selectors.EVENT_READ, self._hear)
        self._codes: dict[int, int | None] = {}
        """Of each process that was started, its exit code if it has ended."""
        self._lifelines: dict[int, int] = {}
        """Pipes that end with this process, by which its children notice."""
        self._logs: dict[int, tuple[int, Path]] = {}
        """What a process prints comes through a pipe: a limit on its files is none on its log."""
        self._is_over = False

    def run(self) -> None:
        while not self._is_over:
            for key, _ in self._watched.select():
                key.data()
        for pid in self._codes:
            self._end(pid)

    def _hear(self) -> None:
        chunk = b""
        with suppress(ConnectionError):
            chunk = self._control.recv(_CHUNK_BYTES)
        if not chunk:
            self._is_over = True
            return
        *lines, self._received = (self._received + chunk).split(b"\n")
        for line in lines:
            command = json.loads(line)
            answer, descriptors = self._do(**command)
            with suppress(ConnectionError):
                socket.send_fds(self._control, [json.dumps(answer).encode() + b"\n"], descriptors)
            for descriptor in descriptors:
                os.close(descriptor)

    def _do(self, do: str, **given: Any) -> tuple[dict[str, Any], list[int]]:
        match do:
            case "node":
                arguments = [f"{name}={value}" for name, value in given["properties"].items()]
                return {
                    "pid": self._fork(partial(self._run_node, arguments), Path(given["log"]))
                }, []
            case "network":
                ours, theirs = socket.socketpair()
                work = partial(self._run_network, theirs.fileno(), given["fronts"])
                pid = self._fork(work, None, keep=theirs.fileno())
                theirs.close()
                return {"pid": pid}, [ours.detach()]
            case "signal":
                with suppress(ProcessLookupError):
                    os.kill(given["pid"], given["signal"])
            case "poll":
                return {"code": self._poll(given["pid"], os.WNOHANG)}, []
            case "end":
                return {"code": self._end(given["pid"])}, []
            case "limit":
                _limit_files(given["pid"], given["bytes"])
        return {}, []

    # -- processes -------------------------------------------------------------------------------

    def _fork(self, work: Callable[[], int], log: Path | None, keep: int | None = None) -> int:
        stdin, lifeline = os.pipe()
        printed, stdout = os.pipe()
        pid = os.fork()
        if pid == 0:
            _live(work, stdin, stdout, keep)
        os.close(stdin)
        os.close(stdout)
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)  # the child does it too: either may come first
        self._codes[pid] = None
        self._lifelines[pid] = lifeline
        os.set_blocking(printed, False)
        self._logs[pid] = printed, Path(os.devnull) if log is None else log
        self._watched.register(printed, selectors.EVENT_READ, partial(self._write_down, pid))
        return pid

    def _poll(self, pid: int, options: int) -> int | None:
        if self._codes[pid] is None:
            ended, status = os.waitpid(pid, options)
            if ended:
                self._codes[pid] = os.waitstatus_to_exitcode(status)
                os.close(self._lifelines.pop(pid))
                self._write_down(pid)
        return self._codes[pid]

    def _end(self, pid: int) -> int | None:
        """Kill it, and what it has started."""
        if self._codes[pid] is None:
            with suppress(ProcessLookupError, PermissionError):  # macOS: it is dead and unburied
                os.killpg(pid, signal.SIGKILL)
        return self._poll(pid, 0)

    def _write_down(self, pid: int) -> None:
        """Bring the log up to date with what has been printed."""
        if pid not in self._logs:
            return
        printed, log = self._logs[pid]
        with suppress(BlockingIOError):
            while chunk := os.read(printed, _CHUNK_BYTES):
                with log.open("ab") as file:
                    file.write(chunk)
            self._watched.unregister(printed)
            os.close(printed)
            del self._logs[pid]


def _live(work: Callable[[], int], stdin: int, stdout: int, keep: int | None) -> None:
    """What a child does, from its first moment to its end. Never returns."""
    code = 1
    try:
        gc.enable()
        os.setpgid(0, 0)
        os.dup2(stdin, _STDIN)
        os.dup2(stdout, 1)
        os.dup2(stdout, 2)
        for descriptor in range(3, _MOST_FILES):  # those of its siblings
            if descriptor != keep:
                with suppress(OSError):
                    os.close(descriptor)
        threading.Thread(target=_end_with_launcher, daemon=True).start()
        code = work()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _end_with_launcher() -> None:
    while os.read(_STDIN, 1):
        pass
    os._exit(1)


def _limit_files(pid: int, size: int | None) -> None:
    if sys.platform == "linux":
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def main() -> None:
    control = socket.socket(fileno=_STDIN)
    gc.disable()  # which makes importing faster by a tenth
    from barnabas.broker.server import main as run_node
    from barnabas.embedded.forwarder import main as run_network

    gc.freeze()
    directory, _ = storage.new_directory()
    try:
        os.chdir(directory)
        control.sendall(json.dumps({"directory": str(directory)}).encode() + b"\n")
        LauncherProcess(control, run_node, run_network).run()
    finally:
        storage.remove(directory)


if __name__ == "__main__":
    main()

"""Commands and brokers for tests without the start of an interpreter.

Importing Barnabas takes a second of CPU, and thousands of tests start a process. Here one process
per test run imports everything, and every `python -m barnabas` is a fork of it. `Popen` and `run`
are those of `subprocess`, and fall back to them for everything that is not such a command, or that
depends on the start of the interpreter. `real=True` asks for that: a few tests have to show that
the commands work without any of this.
"""

import atexit
import functools
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.fork_server_process import EXIT, LENGTH, MESSAGE

_ROOT = Path(__file__).parents[2]
_MODULES = ("barnabas", "barnabas.broker.server")
_READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "OPENSSL", "FORCE_COLOR", "NO_COLOR")
"""What begins variables that interpreters, libraries or imports read when they start."""
_KILLED = -9

_EXECUTE_CHILD = (
    *("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo"),
    *("creationflags", "shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread"),
    *("errwrite", "restore_signals", "gid", "gids", "uid", "umask", "start_new_session"),
    "process_group",
)
"""What `subprocess` passes to `Popen._execute_child`."""
_REAL_IF_GIVEN = ("executable", "preexec_fn", "pass_fds", "shell", "gid", "gids", "uid")


class ForkServer:
    """The process that is forked, one per test run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._environment = _read_at_start(os.environ)
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server_process"],
                stdin=theirs,
                cwd=_ROOT,
            )
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def suits(self, environment: Mapping[str, str]) -> bool:
        """Whether a process with these variables would have started as this one has."""
        return _read_at_start(environment) == self._environment

    def fork(self, request: dict[str, Any], streams: Sequence[int]) -> int:
        """Returns the pipe that reports the process id and the exit code."""
        report, theirs = os.pipe()
        payload = json.dumps(request).encode()
        try:
            with self._lock:
                socket.send_fds(self._control, [LENGTH.pack(len(payload))], [*streams, theirs])
                self._control.sendall(payload)
        finally:
            os.close(theirs)
        return report


@functools.cache
def _server(pid: int) -> ForkServer:
    del pid  # a fork of the test run needs its own
    return ForkServer()


_starting = threading.Lock()


def server() -> ForkServer:
    """The one of this test run."""
    with _starting:
        return _server(os.getpid())


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen`, which forks the server for `python -m barnabas`."""

    _report: int | None = None

    def __init__(self, args: Any, *rest: Any, real: bool = False, **options: Any) -> None:
        self._real = real
        super().__init__(args, *rest, **options)

    def _execute_child(self, *values: Any) -> None:
        given = dict(zip(_EXECUTE_CHILD, values, strict=True))
        module = _module_of(given["args"])
        environment = dict(os.environ if given["env"] is None else given["env"])
        if (
            self._real
            or module is None
            or any(given[name] for name in _REAL_IF_GIVEN if given[name] != -1)
            or given["umask"] != -1
            or not server().suits(environment)
        ):
            super()._execute_child(*values)  # type: ignore[misc]
            return
        streams = [
            number if given[name] == -1 else given[name]
            for number, name in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        group = given["process_group"]
        request = {
            "module": module,
            "arguments": [os.fsdecode(each) for each in given["args"][3:]],
            "environment": environment,
            "directory": os.path.abspath(given["cwd"] or os.getcwd()),  # noqa: PTH100, PTH109
            "session": given["start_new_session"],
            "group": None if group == -1 else group,
        }
        self._report = server().fork(request, streams)
        self._child_created = True
        kind, value = self._next_report()
        self.pid = value if kind != EXIT else 0
        self._close_pipe_fds(  # type: ignore[attr-defined]
            *(given[name] for name in _EXECUTE_CHILD if name[:3] in ("p2c", "c2p", "err"))
        )
        if kind == EXIT:
            raise RuntimeError(f"the fork server can't start {given['args']}: exit code {value}")

    def _next_report(self) -> tuple[bytes, int]:
        assert self._report is not None
        message = os.read(self._report, MESSAGE.size)
        if len(message) < MESSAGE.size:  # the server is gone, and its processes with it
            return EXIT, _KILLED
        kind, value = MESSAGE.unpack(message)
        return kind, value

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:
        if self._report is None:
            return super()._internal_poll(*args, **options)  # type: ignore[misc, no-any-return]
        return self._look(0)

    def _wait(self, timeout: float | None) -> int | None:
        if self._report is None:
            return super()._wait(timeout)  # type: ignore[misc, no-any-return]
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def _look(self, timeout: float | None) -> int | None:
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None and self._report is not None:
                watched = select.poll()
                watched.register(self._report, select.POLLIN)
                if watched.poll(None if timeout is None else max(timeout, 0) * 1000):
                    _, self.returncode = self._next_report()
                    os.close(self._report)
            return self.returncode


def run(
    args: Any,
    *,
    input: Any = None,  # noqa: A002 - its name there
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    real: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run`, by means of `Popen` above."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(args, real=real, **options) as process:
        try:
            out, error = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
    done = subprocess.CompletedProcess(args, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


def _module_of(args: Any) -> str | None:
    if isinstance(args, str | bytes | Path) or len(args) < 3:
        return None
    program, option, module = args[:3]
    if (program, option) == (sys.executable, "-m") and module in _MODULES:
        return str(module)
    return None


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: v for name, v in environment.items() if name.startswith(_READ_AT_START)}

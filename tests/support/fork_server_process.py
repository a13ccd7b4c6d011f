"""The process that commands and brokers of tests are forked from; see `fork_server`.

Standard input is a socket to the test run. A request is the length of a JSON object (4 bytes),
then the object: `module`, `arguments`, `environment`, `directory`, `session`, `group`. Four
descriptors come along: standard input, output and error of the new process, and a pipe.

Through the pipe come two messages: the process id, from the new process when it is set up, and the
exit code as in `Popen.returncode`, from here when it has ended.

When the socket ends, because the test run is over or was killed, all processes are killed.
"""

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

MESSAGE = struct.Struct("<cq")
PID = b"p"
EXIT = b"e"
LENGTH = struct.Struct("<I")
DESCRIPTORS = 4

_PRELOADED = ("aio", "app", "backup", "cli", "console", "dead_letters")
"""Packages of barnabas that are imported as a whole, with what they import."""
_NOT_PRELOADED = "barnabas.cli.pipeline."
"""Its commands import Spark, which takes as long as everything else together."""

_LOOK_S = 2.0
"""How often the server looks whether the test run is alive: a fork of it keeps the socket open."""
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class Server:
    """Forks processes and reports how they end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._parent = os.getppid()
        self._reports: dict[int, int] = {}
        """The pipe of each process that has not ended."""
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> dict[str, Any] | None:
        """None at the end of the test run; in each new process, what it is to become."""
        while os.getppid() == self._parent:
            ready, _, _ = select.select([self._control, self._woken], [], [], _LOOK_S)
            if self._woken in ready:
                with suppress(BlockingIOError):
                    os.read(self._woken, 4096)
            self._bury()
            if self._control in ready:
                try:
                    asked = self._receive()
                except (ConnectionError, EOFError):
                    break
                if self._fork(*asked):
                    return asked[0]
        self._kill_all()
        return None

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        head, descriptors, _, _ = socket.recv_fds(self._control, LENGTH.size, DESCRIPTORS)
        while 0 < len(head) < LENGTH.size:
            head += self._control.recv(LENGTH.size - len(head))
        if not head:
            raise EOFError
        (missing,) = LENGTH.unpack(head)
        chunks = []
        while missing:
            chunks.append(self._control.recv(missing))
            if not chunks[-1]:
                raise EOFError
            missing -= len(chunks[-1])
        return json.loads(b"".join(chunks)), descriptors

    def _fork(self, request: dict[str, Any], descriptors: list[int]) -> bool:
        """Whether this is the new process."""
        *streams, report = descriptors
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._control.detach()
            _set_up(request, streams, report, parent)
            return True
        for each in streams:
            os.close(each)
        self._reports[pid] = report
        return False

    def _bury(self) -> None:
        while self._reports:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            report = self._reports.pop(pid)
            with suppress(BrokenPipeError):  # nobody asks for it any more
                os.write(report, MESSAGE.pack(EXIT, os.waitstatus_to_exitcode(status)))
            os.close(report)

    def _kill_all(self) -> None:
        for pid in self._reports:
            os.kill(pid, signal.SIGKILL)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # if it leads a group


# -- in the new process --------------------------------------------------------------------------


def _set_up(request: dict[str, Any], streams: list[int], report: int, parent: int) -> None:
    """Make the process look like one that was just started."""
    if request["session"]:
        os.setsid()
    if request["group"] is not None:
        os.setpgid(0, request["group"])
    kept = os.dup2(report, max(*streams, report, 3) + 1, inheritable=False)
    high = [os.dup2(each, kept + 1 + number) for number, each in enumerate(streams)]
    for number, each in enumerate(high):
        os.dup2(each, number)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["directory"])
    sys.path[0] = request["directory"]
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    _open_streams()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    os.write(kept, MESSAGE.pack(PID, os.getpid()))
    os.close(kept)
    gc.enable()


def _open_streams() -> None:
    """New ones: whether they are buffered depends on what they lead to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        mode = "w" if number else "r"
        raw = open(number, f"{mode}b", closefd=False)  # noqa: SIM115 - stays open
        raw.raw.name = f"<{name}>"
        stream = io.TextIOWrapper(
            raw,
            old.encoding,
            old.errors,
            newline="\n" if number else None,
            line_buffering=number == 2 or os.isatty(number),
        )
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _become(request: dict[str, Any]) -> None:
    """Run the module as `python -m` does, and end as an interpreter does."""
    sys.argv[:] = ["-m", *request["arguments"]]
    if not hasattr(sys.modules.get(request["module"]), "__path__"):
        sys.modules.pop(request["module"], None)  # it is executed again, as __main__
    sys.excepthook = _print_exception
    # Handled here and not before: a signal that came early, while blocked, is not lost.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    code = 0
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = (end.code or 0) & 0xFF
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # the interpreter has its own words for that
        sys.exit(code)
    os._exit(code)  # without taking apart two thousand modules


def _print_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Without the lines of this file and of runpy."""
    ours = (__file__, runpy.__file__)
    while trace is not None and (
        trace.tb_frame.f_code.co_filename in ours or "runpy" in trace.tb_frame.f_code.co_filename
    ):
        trace = trace.tb_next
    sys.__excepthook__(kind, error, trace)


def _preload() -> None:
    importlib.import_module("barnabas.broker.server")
    for name in _PRELOADED:
        package = importlib.import_module(f"barnabas.{name}")
        for found in pkgutil.walk_packages(package.__path__, f"barnabas.{name}."):
            if not found.name.startswith(_NOT_PRELOADED) and not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    late = {"pyspark", "pyarrow"} & sys.modules.keys()
    assert not late, f"{late} should not be imported before it is needed"


def main() -> None:
    # Blocked rather than ignored: Ctrl-C is for the test run, which ends this process.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    control = socket.socket(fileno=os.dup(0))
    gc.disable()
    _preload()
    assert threading.active_count() == 1, f"a fork has no other threads: {threading.enumerate()}"
    gc.collect()
    gc.freeze()
    request = Server(control).serve()
    if request is not None:
        _become(request)


if __name__ == "__main__":
    main()

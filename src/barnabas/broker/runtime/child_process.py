"""Work that takes long and would hold up the event loop, in a process of its own.

Threads of one process take turns in running Python, so work in a thread delays every request. A
`ChildProcess` is an executor like a pool of threads, to be used with `loop.run_in_executor`:
functions, arguments and results go through pipes, pickled. The process (`log/compaction/child.py`)
runs at the lowest priority. It is started when it is first needed, ends when nothing was asked of
it for a while, and dies with its parent, however that may end.

A function that raises ends the process, and whoever waits for it gets ChildProcessError: what is
expected to go wrong belongs in the result.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import Any, TypeVar

T = TypeVar("T")


class ChildProcess(Executor):
    """One process, which does one thing at a time."""

    def __init__(self, idle_s: float = 30.0) -> None:
        self._idle_s = idle_s
        self._thread = ThreadPoolExecutor(1, "child process")
        """Waits for the answers."""
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = Event()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """`fn` and its arguments must be such as can be pickled."""
        return self._thread.submit(self._ask, pickle.dumps((fn, args, kwargs)))

    def _ask(self, request: bytes) -> Any:
        while not self._closed.is_set():
            process = self._process
            if process is None:
                process = self._process = _start(self._idle_s)
                if self._closed.is_set():  # in this very moment: then nobody else ends it
                    process.kill()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(request)
                process.stdin.flush()
                return pickle.load(process.stdout)  # noqa: S301 - it is a part of ourselves
            except (BrokenPipeError, EOFError):
                self._process = None
                code = _end(process)
            if code != 0:  # else it was idle, and went just before it was asked
                raise ChildProcessError(f"the worker process ended with exit code {code}")
        raise ChildProcessError("this node stops")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Work under way is not waited for."""
        del cancel_futures
        self._closed.set()
        process = self._process
        if process is not None:
            process.kill()
        self._thread.shutdown(wait=wait, cancel_futures=True)
        if self._process is not None:
            _end(self._process)


def _start(idle_s: float) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "barnabas.log.compaction.child", str(idle_s)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603


def _end(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code. It has closed its pipes, or was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # what it was asked may still be in the buffer
        process.stdin.close()
    process.stdout.close()
    return process.wait()

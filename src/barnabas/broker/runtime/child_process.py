"""Runs long work in a child process, so that it does not stall the event loop.

Threads of one process share the interpreter lock, so work in a thread delays every request. A
`ChildProcess` is an executor like a pool of threads, to be used with `loop.run_in_executor`:
functions, arguments and results go through pipes, pickled. The process (`log/compaction/child.py`)
runs at the lowest priority. It is started when it is first needed, exits when idle for a while, and
ends with its parent, however that ends.

A function that raises ends the process, and its caller gets ChildProcessError: expected failures
belong in the result.
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
    """One process, which runs one function at a time."""

    def __init__(self, idle_s: float = 30.0) -> None:
        self._idle_s = idle_s
        self._thread = ThreadPoolExecutor(1, "child process")
        """The thread that waits for the answers."""
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = Event()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """`fn` and its arguments must be picklable."""
        return self._thread.submit(self._ask, pickle.dumps((fn, args, kwargs)))

    def _ask(self, request: bytes) -> Any:
        while not self._closed.is_set():
            process = self._process
            if process is None:
                process = self._process = _start(self._idle_s)
                if self._closed.is_set():  # closed just now: nothing else would end the process
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
            if code != 0:  # otherwise it was idle, and exited just before the request
                raise ChildProcessError(f"the worker process ended with exit code {code}")
        raise ChildProcessError("this node stops")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does not wait for running work."""
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
    """The exit code of a process that has closed its pipes, or was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # the request may still be in the buffer
        process.stdin.close()
    process.stdout.close()
    return process.wait()

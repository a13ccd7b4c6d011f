"""Runs in forked processes, each of which begins with everything imported, and ends after a few.

A run leaves a whole cluster behind, in one knot of references. To collect it takes a tenth of the
time of the run; a process that ends need not. A run that takes its process with it is a failure
like others.
"""

import gc
import os
import pickle
import selectors
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

ResultT = TypeVar("ResultT")

AT_ONCE = 4
"""Runs of a process: forking one costs little, and what they leave behind takes memory."""
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Failure:
    """A run that raised an exception."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def freeze() -> None:
    """Call this before forking: the collector then leaves alone what is there already, so that
    its pages stay shared."""
    gc.collect()
    gc.freeze()


def forked(
    work: Callable[[int], ResultT], seeds: Iterator[int], jobs: int
) -> Generator[tuple[int, ResultT | Failure], None, None]:
    """The results of `work`, as they come, from `jobs` processes at a time."""
    freeze()
    running: dict[int, _Child[ResultT]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                while len(running) < jobs and (some := list(islice(seeds, AT_ONCE))):
                    child = _Child(work, some)
                    running[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                if not running:
                    return
                for key, _ in selector.select():
                    child = running[key.fd]
                    yield from child.read()
                    if child.has_ended:
                        selector.unregister(key.fd)
                        del running[key.fd]
                        yield from child.end()
        finally:
            for child in running.values():
                child.kill()


class _Child(Generic[ResultT]):
    """A process that runs some seeds and writes what came of each to a pipe."""

    def __init__(self, work: Callable[[int], ResultT], seeds: list[int]) -> None:
        self.pipe, writing = os.pipe()
        self.has_ended = False
        self._seeds = deque(seeds)
        self._read = b""
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self.pipe)
            _run(work, seeds, writing)
        os.close(writing)

    def read(self) -> Iterator[tuple[int, ResultT | Failure]]:
        data = os.read(self.pipe, 1 << 20)
        self.has_ended = not data
        self._read += data
        while len(self._read) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._read[:_LENGTH_BYTES])
            if len(self._read) < end:
                return
            result = pickle.loads(self._read[_LENGTH_BYTES:end])  # noqa: S301 - of our own process
            self._read = self._read[end:]
            yield self._seeds.popleft(), result

    def end(self) -> Iterator[tuple[int, ResultT | Failure]]:
        """It has written everything; if that is not all, the next seed has killed it."""
        os.close(self.pipe)
        _, status = os.waitpid(self._pid, 0)
        if self._seeds:
            code = os.waitstatus_to_exitcode(status)
            yield self._seeds[0], Failure("Died", f"its process ended with {code}")

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self.pipe)
        os.waitpid(self._pid, 0)


def _run(work: Callable[[int], ResultT], seeds: list[int], pipe: int) -> None:
    """Be the child, to the end of the process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.disable()
        for seed in seeds:
            result: ResultT | Failure
            try:
                result = work(seed)
            except Exception as error:  # noqa: BLE001 - the parent tells of it, with the seed
                result = Failure(type(error).__name__, str(error))
            data = pickle.dumps(result)
            write(pipe, len(data).to_bytes(_LENGTH_BYTES) + data)
        code = 0
    finally:
        os._exit(code)


def write(pipe: int, data: bytes) -> None:
    """All of it, however little of it the pipe takes at once."""
    while data:
        data = data[os.write(pipe, data) :]

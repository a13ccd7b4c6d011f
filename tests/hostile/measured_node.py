"""A node whose event loop measures its turns: `measured_node FILE NAME=VALUE ...`.

A turn is what the loop does between two looks at its sockets; nobody else is served meanwhile. It
is measured in CPU time of the loop's thread, so a busy machine does not lengthen it. FILE has the
longest turn so far, in seconds, and then the callback that took longest.
"""

import asyncio
import mmap
import struct
import sys
import time
from asyncio import events
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from barnabas.broker import server

SIZE = 4096
_LONGEST = struct.Struct("=d")
_SHOWN = 1000


class Turns:
    """The longest turn, shared through a file."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)

    @property
    def longest_s(self) -> float:
        return float(_LONGEST.unpack_from(self._map)[0])

    @property
    def callback(self) -> str:
        """The callback that took longest in it."""
        return self._map[_LONGEST.size :].rstrip(b"\0").decode(errors="replace")

    def note(self, seconds: float, callback: str) -> None:
        _LONGEST.pack_into(self._map, 0, seconds)
        text = callback.encode()[:_SHOWN].ljust(_SHOWN, b"\0")
        self._map[_LONGEST.size : _LONGEST.size + _SHOWN] = text

    def reset(self) -> None:
        self.note(0.0, "")


class MeasuredLoop(asyncio.SelectorEventLoop):
    """An event loop that notes its longest turn."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def _run_once(self) -> None:
        _slowest.clear()
        before_s = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        seconds = time.thread_time() - before_s
        if seconds > self._turns.longest_s:
            slowest = sorted(_slowest, reverse=True)
            shown = (f"{callback_s * 1000:.1f} ms {text}" for callback_s, text in slowest)
            self._turns.note(seconds, "; ".join(shown))


_slowest: list[tuple[float, str]] = []
_WORTH_NOTING_S = 0.002
_run_handle = events.Handle._run


def _measured(handle: Any) -> None:
    before_s = time.thread_time()
    _run_handle(handle)
    seconds = time.thread_time() - before_s
    if seconds > _WORTH_NOTING_S:
        _slowest.append((seconds, _name(handle)))


def _name(handle: Any) -> str:
    """Not its `repr`, which shows a result of megabytes."""
    callback = handle._callback
    task = getattr(callback, "__self__", None)
    work = task.get_coro() if isinstance(task, asyncio.Task) else callback
    return str(getattr(work, "__qualname__", work))


def main() -> int:
    turns = Turns(Path(sys.argv[1]))

    def run(work: Coroutine[Any, Any, int]) -> int:
        with asyncio.Runner(loop_factory=lambda: MeasuredLoop(turns)) as runner:
            return runner.run(work)

    server.uvloop.run = run  # type: ignore[assignment]
    events.Handle._run = _measured  # type: ignore[method-assign]
    return server.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())

"""When the machine stood still: a virtual one gets no processor for a while, now and then.

A process that only sleeps is woken late then, whatever else runs: the scheduler prefers it to all
that is busy. It is a process of its own, so that no lock of the measuring one keeps it waiting.
"""

import subprocess
import sys
from types import TracebackType
from typing import Self

_SLEEPER = """
import time
while True:
    before = time.perf_counter_ns()
    time.sleep(0.005)
    after = time.perf_counter_ns()
    if after - before > 55_000_000:
        print(before, after, flush=True)
"""


class MachinePauses:
    """Watches while it is entered; the pauses are known afterwards."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int]] = []
        """Begin and end of pauses of 50 ms and more, on the clock of `perf_counter_ns`."""

    def __enter__(self) -> Self:
        self._sleeper = subprocess.Popen([sys.executable, "-c", _SLEEPER], stdout=subprocess.PIPE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sleeper.terminate()
        output, _ = self._sleeper.communicate()
        for line in output.decode().splitlines():
            before, after = map(int, line.split())
            self.found.append((before, after))

    def overlap(self, begin_ns: int, end_ns: int) -> bool:
        """Whether the machine stood still in this time."""
        return any(begin_ns < after and end_ns > before for before, after in self.found)

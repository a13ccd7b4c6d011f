"""The clocks of a machine."""

from collections.abc import Callable

from barnabas.broker.runtime.clock import Clock
from barnabas.sim.process.loop import ProcessLoop

EPOCH_MS = 1_700_000_000_000
"""The time of day at which every simulation begins."""


class SimulatedClock(Clock):
    """The clocks of a machine, as its current process reads them.

    The steady clock begins at the time of day, as it does on a real machine: where that is wrong,
    everything that the process stamps and compares with what others have stamped is wrong.
    """

    def __init__(self, time_of_day_ms: Callable[[], int], process: ProcessLoop) -> None:
        self._time_of_day_ms = time_of_day_ms
        self._process = process
        self._offset_ms = time_of_day_ms() - process.local_us() // 1000

    def now_ms(self) -> int:
        return self._time_of_day_ms()

    def steady_ms(self) -> int:
        return self._offset_ms + self._process.local_us() // 1000

    def steady_s(self) -> float:
        return self._process.local_us() / 1_000_000

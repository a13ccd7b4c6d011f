"""A rate over a sliding window, as Kafka measures the rates that it throttles.

Values are added up in windows of one second, of which the last eleven count. A window begins with
the first value after the one before it has ended, so that quiet times have none. The rate is the
sum over the time since the oldest window began, and that counts as at least ten seconds: a client
that was quiet may use ten seconds' worth at once.

The throttle time is how long the rate has to stay without further values to be within its bound
again: (rate - bound) / bound x window.
"""

from collections import deque
from typing import NamedTuple


class QuotaWindows(NamedTuple):
    """`quota.window.num` and `quota.window.size.seconds`."""

    number: int = 11
    size_ms: int = 1_000

    @property
    def burst_s(self) -> float:
        """The seconds' worth that a quiet client may use at once."""
        return (self.number - 1) * self.size_ms / 1_000


class _Window:
    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class Rate:
    """Values of the last windows; all times are of one steady clock."""

    __slots__ = ("_total", "_windows")

    def __init__(self, now_ms: int) -> None:
        self._windows = deque([_Window(now_ms)])
        """The oldest first; never empty."""
        self._total = 0.0

    def record(self, value: float, now_ms: int, windows: QuotaWindows) -> None:
        window = self._windows[-1]
        if now_ms - window.start_ms >= windows.size_ms:
            window = _Window(now_ms)
            self._windows.append(window)
        window.total += value
        window.last_ms = now_ms
        self._total += value

    def per_second(self, now_ms: int, windows: QuotaWindows) -> float:
        window_ms = self.window_ms(now_ms, windows)
        return self._total * 1_000 / window_ms

    def window_ms(self, now_ms: int, windows: QuotaWindows) -> int:
        """The time over which the values are spread."""
        self._expire(now_ms, windows)
        elapsed_ms = now_ms - self._windows[0].start_ms
        missing = windows.number - 1 - elapsed_ms // windows.size_ms
        if missing > 0:
            elapsed_ms += missing * windows.size_ms
        return max(elapsed_ms, 1)

    def throttle_ms(self, bound: float, now_ms: int, windows: QuotaWindows) -> int:
        """How long to wait until the rate is within `bound`; 0 if it is."""
        window_ms = self.window_ms(now_ms, windows)
        rate = self._total * 1_000 / window_ms
        if bound <= 0:
            return windows.size_ms if rate else 0
        return 0 if rate <= bound else _rounded((rate - bound) / bound * window_ms)

    def is_over(self, now_ms: int, windows: QuotaWindows) -> bool:
        """Whether no value counts any longer."""
        return self._windows[-1].last_ms <= now_ms - windows.number * windows.size_ms

    def _expire(self, now_ms: int, windows: QuotaWindows) -> None:
        """Forget windows whose last value is too old."""
        expired_ms = now_ms - windows.number * windows.size_ms
        kept = self._windows
        if kept[0].last_ms > expired_ms:
            return
        while kept and kept[0].last_ms <= expired_ms:
            kept.popleft()
        if not kept:
            kept.append(_Window(now_ms))
        # Added up again, so that rounding errors do not pile up.
        self._total = sum(window.total for window in kept)


class SimpleRate(Rate):
    """A rate over the time since the oldest window began, at least one window: for replicas that
    catch up, which may use nothing in advance."""

    __slots__ = ()

    def window_ms(self, now_ms: int, windows: QuotaWindows) -> int:
        self._expire(now_ms, windows)
        return max(now_ms - self._windows[0].start_ms, windows.size_ms)


def _rounded(value: float) -> int:
    """As Java rounds: halves go up."""
    return int(value + 0.5)

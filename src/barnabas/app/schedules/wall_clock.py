"""The clock by which ticks are due, which may be set while they are waited for."""

import logging
from datetime import UTC, datetime

from barnabas.app.clock import Clock

_TOLERANCE_MS = 1_000  # by which the clocks of workers may differ
_log = logging.getLogger("barnabas.app")


class WallClock:
    """Says once when it was set back: ticks wait then until it is as late as it was."""

    def __init__(self, clock: Clock, who: str, latest_ms: int) -> None:
        """`latest_ms` is the latest tick of any worker: no clock was earlier than that."""
        self._clock = clock
        self._who = who
        self._latest_ms = latest_ms
        self._is_back = False

    def now_ms(self) -> int:
        now_ms = self._clock.time_ms()
        if now_ms >= self._latest_ms:
            self._latest_ms = now_ms
            self._is_back = False
        elif now_ms < self._latest_ms - _TOLERANCE_MS and not self._is_back:
            self._is_back = True
            moment = datetime.fromtimestamp(self._latest_ms / 1000, UTC)
            _log.warning(
                "%s: the clock is %.0f s behind what it was, or behind that of another worker. "
                "No tick comes twice: those up to %s are done, and later ones wait for their time",
                self._who,
                (self._latest_ms - now_ms) / 1000,
                moment.isoformat(timespec="seconds"),
            )
        return now_ms

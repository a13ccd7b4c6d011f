"""Logs what a client waits for, long before its last timeout.

Python shows warnings on stderr unless a program arranges its logging otherwise.
"""

import logging
from collections.abc import Callable
from time import monotonic

from barnabas.errors import BarnabasError

SILENCE_S = 3.0
"""What is over sooner is not worth a word: elections take less."""

_INTERVAL_S = 30.0

_log = logging.getLogger("barnabas.client")


class RetryLog:
    """Called for every failed attempt; logs some of them."""

    def __init__(self, monotonic: Callable[[], float] = monotonic, *, cluster: str = "") -> None:
        """`cluster` is a name, for programs that use several."""
        self._monotonic = monotonic
        self._label = f"cluster {cluster}: " if cluster else ""
        self._said_at = -_INTERVAL_S

    def __call__(self, error: BarnabasError, failing_s: float) -> None:
        now = self._monotonic()
        if failing_s >= SILENCE_S and now - self._said_at >= _INTERVAL_S:
            self._said_at = now
            said = str(error).removeprefix(self._label)
            _log.warning("%sstill trying, for %.0f s now: %s", self._label, failing_s, said)

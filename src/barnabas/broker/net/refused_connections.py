"""Connections that were closed because of what a client did: logged, at a limited rate for each
address.

A client that sends nonsense mostly does so again and again. What is left out is counted, and said
with the first line of a later interval.
"""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

_INTERVAL_S = 10.0
_LINES = 5
"""Of one address in one interval."""
_LINES_OF_ALL = 100
_MAX_ADDRESSES = 1000


class _Lines:
    """What was logged in an interval."""

    __slots__ = ("begin", "left_out", "logged")

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.logged = 0
        self.left_out = 0


class RefusedConnections:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._addresses: dict[str, _Lines] = {}
        self._all = _Lines(now())

    def say(self, host: str, why: str) -> None:
        now = self._now()
        if now - self._all.begin >= _INTERVAL_S:
            if self._all.left_out:
                logger.warning("%d more connections were closed and not logged", self._all.left_out)
            self._all = _Lines(now)
        lines = self._addresses.get(host)
        if lines is None or now - lines.begin >= _INTERVAL_S:
            if lines is not None and lines.left_out:
                logger.warning(
                    "%d more connections from %s were closed and not logged", lines.left_out, host
                )
            if len(self._addresses) >= _MAX_ADDRESSES:
                self._addresses.clear()
            lines = self._addresses[host] = _Lines(now)
        if lines.logged >= _LINES:
            lines.left_out += 1
        elif self._all.logged >= _LINES_OF_ALL:
            self._all.left_out += 1
        else:
            lines.logged += 1
            self._all.logged += 1
            logger.warning("connection from %s closed: %s", host, why)

"""Failed sign-ins: counted, and logged at a limited rate."""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

_INTERVAL_S = 10.0
_LINES = 10
"""In one interval; the first line of a later one says how many were left out."""
_MAX_SHOWN = 100


class FailedSignIns:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.count = 0
        self._begin = now()
        self._lines = 0
        self._left_out = 0

    def say(
        self, host: str, listener: str, mechanism: str | None, user: str | None, reason: str
    ) -> None:
        """`mechanism` and `user` are what the client has sent, if it has."""
        self.count += 1
        now = self._now()
        if now - self._begin >= _INTERVAL_S:
            if self._left_out:
                logger.warning(
                    "%d more sign-ins have failed, %d since the start", self._left_out, self.count
                )
            self._begin, self._lines, self._left_out = now, 0, 0
        if self._lines >= _LINES:
            self._left_out += 1
            return
        self._lines += 1
        who = "" if user is None else f" as {user[:_MAX_SHOWN]!r}"
        logger.warning(
            "sign-in%s from %s failed (%s on listener %s): %s",
            who,
            host,
            "no mechanism" if mechanism is None else repr(mechanism[:_MAX_SHOWN]),
            listener,
            reason,
        )

"""Logs repeated errors of a partition at a limited rate: clients retry many times a second."""

import logging

_INTERVAL_MS = 60_000


class LimitedLog:
    """Logs one error a minute, and drops those in between."""

    __slots__ = ("_logged_ms",)

    def __init__(self) -> None:
        self._logged_ms: int | None = None

    def error(self, logger: logging.Logger, now_ms: int, text: str, *arguments: object) -> None:
        logged_ms = self._logged_ms
        if logged_ms is None or not 0 <= now_ms - logged_ms < _INTERVAL_MS:
            self._logged_ms = now_ms
            logger.error(text, *arguments)

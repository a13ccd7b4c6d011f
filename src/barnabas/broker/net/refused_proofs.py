"""Logs failed node authentications: once per host and reason, and a limited number."""

import logging

logger = logging.getLogger(__name__)

_MAX_SAID = 100


class RefusedProofs:
    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def say(self, host: str, reason: str) -> None:
        """After a hundred hosts and reasons nothing more is logged: it is probably a scan."""
        if (host, reason) not in self._said and len(self._said) < _MAX_SAID:
            self._said.add((host, reason))
            logger.warning(
                "a connection from %s could not prove that it is a node: %s", host, reason
            )

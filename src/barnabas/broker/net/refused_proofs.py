"""Says in the log that somebody could not prove to be a node: once for each, and not for ever."""

import logging

logger = logging.getLogger(__name__)

_MAX_SAID = 100


class RefusedProofs:
    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def say(self, host: str, reason: str) -> None:
        """Beyond a hundred hosts and reasons nothing is said any more: somebody is playing."""
        if (host, reason) not in self._said and len(self._said) < _MAX_SAID:
            self._said.add((host, reason))
            logger.warning(
                "a connection from %s could not prove that it is a node: %s", host, reason
            )

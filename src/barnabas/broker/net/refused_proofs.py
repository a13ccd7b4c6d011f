"""Logs failed node authentications: one line per host and minute, with what it left out.

A node with a wrong secret is in the log as long as it tries, and a scan can't fill the log.
"""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

_QUIET_S = 60.0
_MAX_HOSTS = 100


class RefusedProofs:
    """In one node. `steady_s` is its clock."""

    def __init__(self, steady_s: Callable[[], float]) -> None:
        self._steady_s = steady_s
        self._hosts: dict[str, tuple[float, int]] = {}
        """When a host was logged, and how many failures of it were left out since."""

    def say(self, host: str, reason: str) -> None:
        """Log it, unless the same host was logged within the last minute."""
        now = self._steady_s()
        said_at, left_out = self._hosts.get(host, (-_QUIET_S, 0))
        if now - said_at < _QUIET_S:
            self._hosts[host] = (said_at, left_out + 1)
            return
        if host not in self._hosts and not self._has_room(now):
            return
        self._hosts[host] = (now, 0)
        also = f" ({left_out} more since the last one)" if left_out else ""
        logger.warning(
            "a connection from %s could not prove that it is a node: %s%s", host, reason, also
        )

    def _has_room(self, now: float) -> bool:
        """Whether fewer than a hundred hosts were logged within the last minute."""
        if len(self._hosts) >= _MAX_HOSTS:
            recent = {host: said for host, said in self._hosts.items() if now - said[0] < _QUIET_S}
            self._hosts = recent
        return len(self._hosts) < _MAX_HOSTS

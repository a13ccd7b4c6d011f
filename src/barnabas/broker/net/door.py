"""Who may come in: limits on connections and on the memory they hold, and reaping."""

import logging
from asyncio import AbstractEventLoop
from collections import Counter

from barnabas.broker.config import BrokerConfig
from barnabas.broker.net.connection import Connection

logger = logging.getLogger(__name__)


class ConnectionDoor:
    """Keeps all connections."""

    def __init__(self, loop: AbstractEventLoop, config: BrokerConfig) -> None:
        self.now = loop.time
        self.connections: set[Connection] = set()
        self.stalled: set[Connection] = set()
        self._per_ip: Counter[str] = Counter()
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Take over settings, at the start and whenever they change."""
        self.max_request_bytes = config.number("socket.request.max.bytes")
        self._max_connections = config.number("max.connections")
        self._max_per_ip = config.number("max.connections.per.ip")
        self._max_held_bytes = config.number("queued.max.request.bytes")
        self._max_unsent_bytes = config.number("queued.max.response.bytes")
        self._max_idle_s = config.number("connections.max.idle.ms") / 1000

    def enter(self, connection: Connection) -> str | None:
        host = connection.client_host
        self.connections.add(connection)
        self._per_ip[host] += 1
        if len(self.connections) > self._max_connections:
            return f"max.connections is {self._max_connections}"
        if self._per_ip[host] > self._max_per_ip:
            return f"max.connections.per.ip is {self._max_per_ip}"
        return None

    def leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        host = connection.client_host
        self._per_ip[host] -= 1
        if self._per_ip[host] <= 0:
            del self._per_ip[host]

    def may_hold_more(self) -> bool:
        if self._held_bytes() <= self._max_held_bytes:
            return True
        for one in self.connections:  # some keep memory only for their next request
            one.shrink()
        return self._held_bytes() <= self._max_held_bytes

    def _held_bytes(self) -> int:
        return sum(connection.held_bytes for connection in self.connections)

    def room_for_answers(self) -> int:
        """How many bytes of answers may still be made for clients that have yet to take them."""
        unsent = sum(connection.unsent_bytes for connection in self.stalled)
        return max(0, self._max_unsent_bytes - unsent)

    def _cut_off_the_slowest(self) -> None:
        """Close who holds the most unread answers until the rest is within the limit."""
        for connection in sorted(self.stalled, key=lambda one: one.unsent_bytes, reverse=True):
            if self.room_for_answers():
                return
            logger.warning(
                "connection from %s closed: it has not read %d bytes of answers, and "
                "queued.max.response.bytes is used up",
                connection.client_host,
                connection.unsent_bytes,
            )
            self.stalled.discard(connection)
            connection.abort()

    def sweep(self) -> None:
        """Close who is idle for too long or takes too much; let the quiet give back memory."""
        self._cut_off_the_slowest()
        now = self.now()
        for connection in tuple(self.connections):
            idle = now - connection.last_active
            if connection.is_waiting:
                continue
            if idle > self._max_idle_s:
                logger.info(
                    "connection from %s closed: idle for %.0f s", connection.client_host, idle
                )
                connection.abort()  # it may be one that never reads what it was sent
            elif idle > 1:
                connection.shrink()

    def take_no_more(self) -> None:
        """The broker is about to stop: answers go out, but no request is handled any more."""
        for connection in self.connections:
            connection.take_no_more()

    def close(self) -> None:
        for connection in tuple(self.connections):
            connection.close()

"""Who may come in: limits on connections and on the memory they hold, and reaping."""

import logging
from asyncio import AbstractEventLoop
from collections import Counter

from barnabas.broker.config import BrokerConfig
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.held_memory import HeldMemory

logger = logging.getLogger(__name__)

_LINGER_S = 10
"""How long what a client has sent is still carried out after it has closed its side."""


class ConnectionDoor:
    """Keeps all connections."""

    def __init__(self, loop: AbstractEventLoop, config: BrokerConfig) -> None:
        self.now = loop.time
        self.connections: set[Connection] = set()
        self._per_ip: Counter[str] = Counter()
        self.arriving = HeldMemory(
            "requests that are still arriving", "queued.max.request.bytes", loop.time
        )
        self.unread = HeldMemory("unread answers", "queued.max.response.bytes", loop.time)
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Take over settings, at the start and whenever they change."""
        self.max_request_bytes = config.number("socket.request.max.bytes")
        self._max_connections = config.number("max.connections")
        self._max_per_ip = config.number("max.connections.per.ip")
        self.arriving.max_bytes = config.number("queued.max.request.bytes")
        self.unread.max_bytes = config.number("queued.max.response.bytes")
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

    def sweep(self) -> None:
        """Close who is idle for too long or takes too much; let the quiet give back memory."""
        now = self.now()
        for connection in tuple(self.connections):
            idle = now - connection.last_active
            if idle > 1:
                connection.shrink()
            if connection.has_ended and idle > _LINGER_S:
                connection.abort()
            if idle > self._max_idle_s and not connection.is_waiting:
                logger.info(
                    "connection from %s closed: idle for %.0f s", connection.client_host, idle
                )
                connection.abort()  # it may be one that never reads what it was sent

    def take_no_more(self) -> None:
        """The broker is about to stop: answers go out, but no request is handled any more."""
        for connection in self.connections:
            connection.take_no_more()

    def close(self) -> None:
        for connection in tuple(self.connections):
            connection.close()

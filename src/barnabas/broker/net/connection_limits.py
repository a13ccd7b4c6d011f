"""Limits on connections and on the memory they hold, and closing idle connections.

Nodes do not count against the limits. A connection is known to be a node's only once that node has
authenticated. So a connection over the limits is accepted for a moment, on probation, to do just
that: a node that comes back can connect although clients have used up the limit. There are few such
places; when all are taken, the newest connection replaces the oldest.
"""

import logging
from asyncio import AbstractEventLoop, TimerHandle
from collections import Counter

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.foreign_protocol import ForeignClients
from barnabas.broker.net.handshakes import Handshakes
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.refused_connections import RefusedConnections
from barnabas.broker.quotas.connection_rates import ConnectionRates
from barnabas.broker.settings.config import BrokerConfig

logger = logging.getLogger(__name__)

_LINGER_S = 10
"""How long the broker still handles a client's requests after the client has closed its side."""
_SIGN_IN_S = 30
"""How long a client may take to sign in."""
_PROBATION_PLACES = 64
_PROBATION_S = 3.0


class ConnectionLimits:
    """All connections of the broker."""

    def __init__(self, loop: AbstractEventLoop, config: BrokerConfig) -> None:
        self._loop = loop
        self.now = loop.time
        self._on_probation: dict[Connection, TimerHandle] = {}
        """Connections accepted over the limits, each with its deadline; the oldest first."""
        self._uncounted: set[Connection] = set()
        """Connections of nodes, and those that are or were on probation: no limit counts them."""
        self.connections: dict[Connection, None] = {}
        """In order of arrival, so that a simulation closes them in the same order."""
        self.accepted = 0
        self._per_ip: Counter[str] = Counter()
        self.arriving = HeldMemory(
            "requests that are still arriving", "queued.max.request.bytes", loop.time
        )
        self.unread = HeldMemory("unread answers", "queued.max.response.bytes", loop.time)
        self.foreign = ForeignClients()
        self.refused = RefusedConnections(loop.time)
        self.handshakes = Handshakes(loop)
        self.rates = ConnectionRates(loop.time, config.quotas)
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Apply settings, at startup and whenever they change."""
        self.max_request_bytes = config.connections.max_request_bytes
        self._max_connections = config.connections.max_connections
        self._max_per_ip = config.connections.max_connections_per_ip
        self.arriving.max_bytes = config.connections.max_queued_request_bytes
        self.unread.max_bytes = config.connections.max_queued_response_bytes
        self._max_idle_s = config.connections.max_idle_ms / 1000

    def enter(self, connection: Connection) -> None:
        host = connection.client_host
        self.connections[connection] = None
        self.accepted += 1
        if len(self.connections) - len(self._uncounted) > self._max_connections:
            self._put_on_probation(connection, f"max.connections is {self._max_connections}")
        elif self._per_ip[host] >= self._max_per_ip:
            self._put_on_probation(connection, f"max.connections.per.ip is {self._max_per_ip}")
        elif throttled_s := self.rates.connected(host):
            connection.is_throttled = True
            self._put_on_probation(connection, "connection_creation_rate", throttled_s)
        else:
            self._per_ip[host] += 1

    def is_over(self, host: str) -> bool:
        """Whether one more connection is over the limits. TLS handshakes under way count, as each
        may become a connection."""
        taken = len(self.connections) - len(self._uncounted) + self.handshakes.count
        if taken >= self._max_connections:
            return True
        taken_by_host = self._per_ip[host] + self.handshakes.of(host)
        return taken_by_host >= self._max_per_ip or self.rates.is_over(host)

    def _put_on_probation(
        self, connection: Connection, limit: str, seconds: float = _PROBATION_S
    ) -> None:
        if len(self._on_probation) >= _PROBATION_PLACES:
            self._expel(next(iter(self._on_probation)))
        connection.probation = limit
        self._uncounted.add(connection)
        timer = self._loop.call_later(seconds, self._expel, connection)
        self._on_probation[connection] = timer

    def _expel(self, connection: Connection) -> None:
        self._on_probation.pop(connection).cancel()
        if not connection.is_throttled:  # `ConnectionRates` logs those, and not each
            connection.refuse(f"{connection.probation}")
        connection.abort()

    def proved(self, connection: Connection) -> None:
        """A node has authenticated on the connection: no limit counts it any longer."""
        timer = self._on_probation.pop(connection, None)
        if timer is not None:
            timer.cancel()
            connection.probation = None
        elif connection not in self._uncounted:
            self.rates.take_back(connection.client_host)
            self._uncounted.add(connection)
            self._leave_host(connection.client_host)

    def leave(self, connection: Connection) -> None:
        self.connections.pop(connection, None)
        timer = self._on_probation.pop(connection, None)
        if timer is not None:
            timer.cancel()
        if connection in self._uncounted:
            self._uncounted.discard(connection)
        else:
            self._leave_host(connection.client_host)

    def _leave_host(self, host: str) -> None:
        self._per_ip[host] -= 1
        if self._per_ip[host] <= 0:
            del self._per_ip[host]

    def sweep(self) -> None:
        """Close connections that are idle for too long or over a limit; free buffers of quiet
        ones."""
        now = self.now()
        for connection in tuple(self.connections):
            idle = now - connection.last_active
            if idle > 1:
                connection.shrink()
            if connection.has_ended and idle > _LINGER_S:
                connection.abort()
            if not connection.has_signed_in and now - connection.opened > _SIGN_IN_S:
                connection.refuse(f"the client has not signed in within {_SIGN_IN_S} s")
                connection.abort()
            elif idle > self._max_idle_s and not connection.is_waiting:
                logger.info(
                    "connection from %s closed: idle for %.0f s", connection.client_host, idle
                )
                connection.abort()  # the client may never read its answers

    def stop_accepting_requests(self) -> None:
        """The broker is about to stop: send pending answers, but handle no further request."""
        for connection in self.connections:
            connection.stop_accepting_requests()

    def close(self) -> None:
        for connection in tuple(self.connections):
            connection.close()

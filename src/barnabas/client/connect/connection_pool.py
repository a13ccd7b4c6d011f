"""The connections of a client: one for each broker and channel, opened when they are needed.

Several may lead to one broker, one for each `Channel`. A broker answers in order, so a heartbeat
behind a long-polling fetch, or a fetch behind a join, would wait for it. Requests that wait
long, or for other brokers, have their own channel; all others share one.
"""

import asyncio
from collections import defaultdict

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.environment import Connect
from barnabas.wire.endpoint import Address


class Channel:
    """Stands for the connections of one user, at most one to each broker."""


GENERAL = Channel()
"""The shared channel, for requests that are answered at once."""


class ConnectionPool:
    """Connections by address and channel."""

    def __init__(
        self, client_id: str, connect_timeout_ms: int, connect: Connect = BrokerConnection.open
    ) -> None:
        self._connect = connect
        self._client_id = client_id
        self._connect_timeout_ms = connect_timeout_ms
        self._connections: dict[tuple[Address, Channel], BrokerConnection] = {}
        self._opening: defaultdict[tuple[Address, Channel], asyncio.Lock]
        self._opening = defaultdict(asyncio.Lock)

    async def to(self, address: Address, channel: Channel = GENERAL) -> BrokerConnection:
        """The connection to an address, opened if there is none."""
        key = (address, channel)
        async with self._opening[key]:
            connection = self._connections.get(key)
            if connection is None or connection.closed:
                connection = await self._connect(
                    address.host,
                    address.port,
                    client_id=self._client_id,
                    timeout_ms=self._connect_timeout_ms,
                )
                self._connections[key] = connection
            return connection

    def reached(self) -> set[Address]:
        """The addresses to which a connection is open."""
        return {address for (address, _), each in self._connections.items() if not each.closed}

    async def close(self) -> None:
        """Close every connection."""
        channels = {channel for _, channel in self._connections}
        await asyncio.gather(*(self.close_channel(channel) for channel in channels))

    async def close_channel(self, channel: Channel) -> None:
        """Close the connections of a user who no longer needs them."""
        keys = [key for key in self._connections if key[1] is channel]
        connections = [self._connections.pop(key) for key in keys]
        await asyncio.gather(*(connection.close() for connection in connections))

"""The connections of a client: one for each broker and channel, opened when they are needed.

Several may lead to one broker, one for each `Channel`. A broker answers in order, so a heartbeat
behind a long-polling fetch, or a fetch behind a join, would wait for it. Requests that wait
long, or for other brokers, have their own channel; all others share one.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.environment import Connect
from barnabas.client.connect.sasl_login import SaslLogin
from barnabas.client.connect.security_settings import NO_SECURITY, SecuritySettings
from barnabas.client.connect.sign_in import sign_in
from barnabas.client.connect.tls_connect import ClientTls
from barnabas.client.connect.traffic import Traffic
from barnabas.errors import BrokerUnreachable, ConnectionLost, RequestTimedOut
from barnabas.wire.endpoint import Address


class Channel:
    """Stands for the connections of one user, at most one to each broker."""


GENERAL = Channel()
"""The shared channel, for requests that are answered at once."""


class ConnectionPool:
    """Connections by address and channel."""

    def __init__(
        self,
        client_id: str,
        connect_timeout_ms: int,
        connect: Connect = BrokerConnection.open,
        security: SecuritySettings = NO_SECURITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises `InvalidArgument`."""
        self._tls = ClientTls(security)
        self._login = SaslLogin.of(security)
        self._connect = connect
        self._clock = clock
        self._client_id = client_id
        self._connect_timeout_ms = connect_timeout_ms
        self.traffic = Traffic()
        self._connections: dict[tuple[Address, Channel], BrokerConnection] = {}
        self._opening: defaultdict[tuple[Address, Channel], asyncio.Lock]
        self._opening = defaultdict(asyncio.Lock)

    async def to(self, address: Address, channel: Channel = GENERAL) -> BrokerConnection:
        """The connection to an address, opened if there is none."""
        key = (address, channel)
        async with self._opening[key]:
            connection = self._connections.get(key)
            if connection is None or connection.closed:
                connection = self._connections[key] = await self._open(address)
            return connection

    async def _open(self, address: Address) -> BrokerConnection:
        connection = await self._connected(address)
        connection.traffic, connection.clock = self.traffic, self._clock
        self.traffic.connections_made += 1
        if self._login is None:
            return connection
        try:
            await sign_in(connection, self._login, self._connect_timeout_ms)
        except (RequestTimedOut, ConnectionLost) as error:
            await connection.close()
            raise BrokerUnreachable(f"it did not complete the sign-in: {error}") from error
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _connected(self, address: Address) -> BrokerConnection:
        context = self._tls.context()
        if context is None:
            return await self._connect(
                *address, client_id=self._client_id, timeout_ms=self._connect_timeout_ms
            )
        return await BrokerConnection.open(
            *address,
            client_id=self._client_id,
            timeout_ms=self._connect_timeout_ms,
            ssl_context=context,
        )

    def reached(self) -> set[Address]:
        """The addresses to which a connection is open."""
        return {address for (address, _), each in self._connections.items() if not each.closed}

    def open_connections(self) -> list[BrokerConnection]:
        """For any thread."""
        return [each for each in list(self._connections.values()) if not each.closed]

    async def close(self) -> None:
        """Close every connection."""
        channels = {channel for _, channel in self._connections}
        await asyncio.gather(*(self.close_channel(channel) for channel in channels))

    async def close_channel(self, channel: Channel) -> None:
        """Close the connections of a user who no longer needs them."""
        keys = [key for key in self._connections if key[1] is channel]
        connections = [self._connections.pop(key) for key in keys]
        await asyncio.gather(*(connection.close() for connection in connections))

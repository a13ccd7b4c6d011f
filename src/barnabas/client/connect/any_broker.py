"""Requests that any broker can answer: brokers are asked in turn, the first answer counts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.connection_pool import ConnectionPool
from barnabas.errors import BarnabasError, BrokerUnreachable, ConnectionLost, RequestTimedOut
from barnabas.wire.endpoint import Address
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest

_HESITATION_S = 0.5
_SIGN_OF_LIFE_MS = 1_000

T = TypeVar("T")


class AnyBroker:
    """The brokers of a cluster, the one first that answered last, then those it started from."""

    def __init__(self, connections: ConnectionPool, bootstrap: Sequence[Address]) -> None:
        self._connections = connections
        self._bootstrap = bootstrap
        self._answering: Address | None = None
        self._is_doubted = False

    def doubt(self) -> None:
        """Something went wrong, so let another broker be the first that is asked next.

        One that is cut off from the others would tell the same old story again and again.
        """
        self._is_doubted = True

    async def use(
        self, use: Callable[[BrokerConnection], Awaitable[T]], known: Sequence[Address]
    ) -> T:
        """The first answer; if a broker is slow, the next one is asked at the same time."""

        async def ask(address: Address) -> T:
            return await use(await self._connections.to(address))

        tried: list[tuple[str, BarnabasError]] = []
        late: list[Address] = []
        addresses = self._in_order(known)
        asked: dict[asyncio.Task[T], Address] = {}
        try:
            while addresses or asked:
                if addresses:
                    address = addresses.pop(0)
                    asked[asyncio.create_task(ask(address))] = address
                patience_s = _HESITATION_S if addresses else None
                done, _ = await asyncio.wait(
                    asked, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    address = asked.pop(task)
                    try:
                        result = task.result()
                    except (BrokerUnreachable, ConnectionLost, RequestTimedOut) as error:
                        tried.append((str(address), error))
                        if isinstance(error, RequestTimedOut):
                            late.append(address)
                    else:
                        self._answering = address
                        return result
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        waiting = [str(address) for address in late if await self._has_no_controller(address)]
        if waiting:
            raise BrokerUnreachable.without_controller(", ".join(waiting))
        if known:
            raise BrokerUnreachable.any_more(tried)
        raise BrokerUnreachable.at_bootstrap(tried)

    async def _has_no_controller(self, address: Address) -> bool:
        """Whether a node says that it only waits: clients that come early get no answer there."""
        try:
            connection = await self._connections.to(address)
            answer = await connection.send(DescribeClusterRequest(), timeout_ms=_SIGN_OF_LIFE_MS)
        except BarnabasError:
            return False
        return not answer.error_code and answer.controller_id < 0

    def _in_order(self, known: Iterable[Address]) -> list[Address]:
        addresses = list(dict.fromkeys((*known, *self._bootstrap)))
        if self._answering in addresses:
            at = addresses.index(self._answering) + self._is_doubted
            addresses = addresses[at:] + addresses[:at]
        self._is_doubted = False
        return addresses

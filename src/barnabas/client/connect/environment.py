"""What a client takes from its surroundings: time, chance, connections, pauses between attempts.

A simulation has its own clock and chance, and an event loop that brings its network. A test
without sockets has its own connections, too.
"""

import random
import time
from asyncio.events import _get_running_loop
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from barnabas.backoff import Backoff
from barnabas.client.connect.broker_connection import BrokerConnection

RETRY = Backoff(0.05, 1.0)
"""Seconds between attempts."""

BUSY = Backoff(0.004, 1.0)
"""The same for what is only a matter of moments, such as the end of a transaction."""


class Connect(Protocol):
    """Opens a connection to a broker; raises `BrokerUnreachable`."""

    async def __call__(
        self, host: str, port: int, *, client_id: str, timeout_ms: int
    ) -> BrokerConnection: ...


@dataclass(frozen=True, slots=True)
class ClientEnvironment:
    """`monotonic` counts seconds, as the loop of the client does; `random` is from 0 to 1.

    `token` returns twelve hexadecimal digits that no other process draws.
    """

    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    connect: Connect = BrokerConnection.open
    token: Callable[[], str] = lambda: uuid4().hex[:12]


SYSTEM = ClientEnvironment()


def surroundings() -> ClientEnvironment:
    """Those that the running loop brings with it, as the processes of a simulation do."""
    found: ClientEnvironment = getattr(_get_running_loop(), "client_environment", SYSTEM)
    return found

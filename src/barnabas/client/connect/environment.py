"""What a client takes from its surroundings: time, chance, connections, pauses between attempts.

A simulation has its own clock and chance, and an event loop that brings its network. A test
without sockets has its own connections, too.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

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
    """`monotonic` counts seconds, as the loop of the client does; `random` is from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    connect: Connect = BrokerConnection.open


SYSTEM = ClientEnvironment()

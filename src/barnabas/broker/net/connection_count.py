"""What a connection asks of those who admit it and count what it holds."""

from typing import TYPE_CHECKING, Protocol

from barnabas.broker.net.foreign_protocol import ForeignClients
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.refused_connections import RefusedConnections

if TYPE_CHECKING:
    from barnabas.broker.net.connection import Connection


class FrameLimit(Protocol):
    max_request_bytes: int
    """The size of the largest request that is read."""


class ConnectionCount(FrameLimit, Protocol):
    """Admits connections and counts them."""

    arriving: HeldMemory
    """Memory held by requests that have not arrived completely."""
    unread: HeldMemory
    """Memory held by answers that clients have not read."""
    foreign: ForeignClients
    refused: RefusedConnections

    def enter(self, connection: "Connection") -> None:
        """Admit the connection, or put it on probation."""

    def leave(self, connection: "Connection") -> None: ...

    def now(self) -> float: ...

"""A TCP connection to oneself, which takes the place of somebody who is not there.

A port that nobody listens at may be one of those that the system gives to outgoing connections.
Whoever connects to it again and again is one day given that very port for its own end, and TCP lets
it connect to itself: it hears its own requests, and the port is in use for whoever belongs there.
"""

import socket
import struct
from asyncio import BaseTransport, Transport
from typing import cast

_NOW = struct.pack("ii", 1, 0)


def refuse_self_connection(transport: BaseTransport) -> bool:
    """Whether both ends are the same; then the connection is over, and its port free again."""
    local = transport.get_extra_info("sockname")
    if local is None or local != transport.get_extra_info("peername"):
        return False
    # Closed in order, it would occupy the port for another minute (TIME_WAIT).
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
    cast("Transport", transport).abort()
    return True

"""Detects a TCP connection of a process to itself.

A port without a listener may be one of those that the system assigns to outgoing connections. A
client that connects to it repeatedly may be assigned that very port, and TCP lets it connect to
itself: it receives its own requests, and the real listener finds its port in use.
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

"""One request to one node, over a separate connection.

The response comes from exactly this node, and nothing is retried.
"""

import socket
import struct
from typing import TypeVar

from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request, Response

ResponseT = TypeVar("ResponseT", bound=Response)

_CLIENT_ID = "barnabas-test"


def ask(address: tuple[str, int], request: Request[ResponseT], timeout_s: float = 1.0) -> ResponseT:
    """Raises OSError if no node listens, or no response arrives in time. A node that is not ready
    yet does not respond."""
    with socket.create_connection(address, timeout_s) as connection:
        if connection.getsockname() == connection.getpeername():
            raise ConnectionRefusedError(
                "no node listens on this port: the connection is to itself"
            )
        version = request.MAX_VERSION
        connection.sendall(b"".join(encode_request(request, version, 0, _CLIENT_ID)))
        (size,) = struct.unpack(">i", _receive(connection, 4))
        frame = _receive(connection, size)
    # RESPONSE is the class that ResponseT names.
    return decode_response(frame, request.RESPONSE, version)  # type: ignore[return-value]


def _receive(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        chunk = connection.recv(count - len(received))
        if not chunk:
            raise ConnectionResetError("the node closed the connection")
        received += chunk
    return bytes(received)

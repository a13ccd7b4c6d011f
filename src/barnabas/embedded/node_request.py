"""One request to one node, over a separate connection.

The response comes from exactly this node, and nothing is retried.
"""

import secrets
import socket
import ssl
import struct
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

ResponseT = TypeVar("ResponseT", bound=Response)

MECHANISM = ScramMechanism.SCRAM_SHA_512
_CLIENT_ID = "barnabas-test"


@dataclass(frozen=True)
class SignIn:
    """How the nodes of a secured cluster are asked."""

    ca_file: str
    user: str
    password: str = field(repr=False)

    @cached_property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file)


def ask(
    address: tuple[str, int],
    request: Request[ResponseT],
    timeout_s: float = 1.0,
    sign_in: SignIn | None = None,
) -> ResponseT:
    """Raises OSError if no node listens, or no response arrives in time. A node that is not ready
    yet does not respond."""
    with socket.create_connection(address, timeout_s) as connection:
        if connection.getsockname() == connection.getpeername():
            raise ConnectionRefusedError(
                "no node listens on this port: the connection is to itself"
            )
        if sign_in is None:
            return _exchange(connection, request)
        with sign_in.context.wrap_socket(connection, server_hostname=address[0]) as secured:
            _sign_in(secured, sign_in)
            return _exchange(secured, request)


def _sign_in(connection: socket.socket, sign_in: SignIn) -> None:
    shaken = _exchange(connection, SaslHandshakeRequest(MECHANISM.label))
    if shaken.error_code:
        raise PermissionError(f"SaslHandshake: error {shaken.error_code}")
    exchange = ScramClient(MECHANISM, sign_in.user, sign_in.password, secrets.token_urlsafe())
    message: bytes | None = exchange.first()
    while message is not None:
        answer = _exchange(connection, SaslAuthenticateRequest(message))
        if answer.error_code:  # the metadata of the node may not have the user yet
            raise PermissionError(answer.error_message or f"error {answer.error_code}")
        message = exchange.step(bytes(answer.auth_bytes))


def _exchange(connection: socket.socket, request: Request[ResponseT]) -> ResponseT:
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

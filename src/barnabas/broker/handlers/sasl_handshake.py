"""SaslHandshake, versions 0-1: a client, or a node that proves itself, chooses a mechanism.

Nodes do so on every listener. Clients sign in on listeners with SASL only; elsewhere their
mechanisms are refused, as by a Kafka without SASL. After version 0 the exchange goes on in frames
without headers, after version 1 in SaslAuthenticate requests.
"""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peer_proof import MECHANISM
from barnabas.broker.net.sign_in.sign_ins import SignIns
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    sign_ins: SignIns


def handle(
    node: Needs, request: SaslHandshakeRequest, context: RequestContext
) -> "SaslHandshakeResponse | Future[SaslHandshakeResponse]":
    connection = context.connection
    sign_in = connection.sign_in
    if request.mechanism == MECHANISM:
        if sign_in is not None:
            sign_in.is_of_node = True
        return SaslHandshakeResponse(mechanisms=[MECHANISM])
    if sign_in is None or connection.peer is not None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    sign_in.is_of_node = False
    return node.sign_ins.handshake(
        connection, sign_in, request.mechanism, is_raw=context.version == 0
    )

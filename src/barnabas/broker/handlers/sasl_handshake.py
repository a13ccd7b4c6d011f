"""SaslHandshake, versions 0-1: nodes begin to prove themselves with it.

Clients do not sign in: their mechanisms are refused, as by a Kafka without SASL.
"""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peer_proof import MECHANISM
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(node: object, request: SaslHandshakeRequest, _: RequestContext) -> SaslHandshakeResponse:
    del node
    if request.mechanism != MECHANISM:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return SaslHandshakeResponse(mechanisms=[MECHANISM])

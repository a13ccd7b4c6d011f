"""SaslAuthenticate, versions 0-2: a node proves that it belongs to this cluster.

See `peer_proof.py`. A connection whose proof fails stays that of a client.
"""

from random import Random
from typing import Protocol

from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.node_credentials import NodeCredentials
from barnabas.broker.net.peer_proof import NONCE_BYTES, ProofError, Verifier
from barnabas.broker.net.refused_proofs import RefusedProofs
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    connections: ConnectionLimits
    credentials: NodeCredentials
    random: Random
    refused_proofs: RefusedProofs


def handle(
    node: Needs, request: SaslAuthenticateRequest, context: RequestContext
) -> SaslAuthenticateResponse:
    connection = context.connection
    proof, connection.proof = connection.proof, None
    if connection.peer is not None:
        return SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, "this node has proved itself")
    try:
        if proof is None:
            credentials = node.credentials.current()
            if credentials is None:
                raise ProofError("this node has not joined a cluster yet")
            connection.proof = Verifier(
                credentials, bytes(request.auth_bytes), node.random.randbytes(NONCE_BYTES)
            )
            return SaslAuthenticateResponse(
                error_message=None, auth_bytes=connection.proof.challenge
            )
        connection.peer = proof.check(bytes(request.auth_bytes))
    except ProofError as error:
        node.refused_proofs.say(context.client_host, str(error))
        return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error))
    node.connections.proved(connection)
    return SaslAuthenticateResponse(error_message=None)

"""SaslAuthenticate, versions 0-2: a client signs in, or a node proves that it belongs to this
cluster.

What a node sends is in `peer_proof.py`. A wrong proof is answered late and closes the connection,
as a failed sign-in does. A hello that is refused does not: nodes that are in no cluster yet, or in
another, ask then which one this is.
Which of the two it is, SaslHandshake has said. On a listener without SASL it is a node.
"""

from asyncio import Future
from random import Random
from typing import Protocol

from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.node_credentials import NodeCredentials
from barnabas.broker.net.peer_proof import NONCE_BYTES, NOT_JOINED, ProofError, Verifier
from barnabas.broker.net.refused_proofs import RefusedProofs
from barnabas.broker.net.sign_in.sign_ins import SignIns
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
    sign_ins: SignIns


def handle(
    node: Needs, request: SaslAuthenticateRequest, context: RequestContext
) -> "SaslAuthenticateResponse | Future[SaslAuthenticateResponse]":
    connection = context.connection
    sign_in = connection.sign_in
    if sign_in is not None and not sign_in.is_of_node:
        return node.sign_ins.authenticate(connection, sign_in, bytes(request.auth_bytes))
    return _prove(node, request, context)


def _prove(
    node: Needs, request: SaslAuthenticateRequest, context: RequestContext
) -> "SaslAuthenticateResponse | Future[SaslAuthenticateResponse]":
    connection = context.connection
    proof, connection.proof = connection.proof, None
    if connection.peer is not None:
        return SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, "this node has proved itself")
    try:
        if proof is None:
            credentials = node.credentials.current()
            if credentials is None:
                return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, NOT_JOINED)
            connection.proof = Verifier(
                credentials, bytes(request.auth_bytes), node.random.randbytes(NONCE_BYTES)
            )
            return SaslAuthenticateResponse(
                error_message=None, auth_bytes=connection.proof.challenge
            )
        connection.peer, answer = proof.check(bytes(request.auth_bytes))
    except ProofError as error:
        node.refused_proofs.say(context.client_host, str(error))
        refused = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error))
        return refused if proof is None else node.sign_ins.answer_late(connection, refused)
    node.connections.proved(connection)
    return SaslAuthenticateResponse(error_message=None, auth_bytes=answer)

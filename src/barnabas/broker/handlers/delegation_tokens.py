"""Delegation tokens are created, renewed and expired:

- CreateDelegationToken, versions 1-3; for another owner since version 3;
- RenewDelegationToken, versions 1-2;
- ExpireDelegationToken, versions 1-2.

Any node accepts them and forwards them to the controller, together with the principal that has
signed in. As in Kafka, a client has to have signed in, or shown a certificate, to ask for tokens;
and one that has signed in with a token may not.
"""

from typing import Any, Protocol

from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.control.controller_calls import ControllerCalls, ControllerUnavailable
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.catch_up import catch_up
from barnabas.broker.quorum.quorum import Quorum
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response


class Needs(Protocol):
    """What this handler asks of the node."""

    calls: ControllerCalls
    quorum: Quorum

    async def in_step(self) -> None: ...


async def handle(node: Needs, request: Request[Any], context: RequestContext) -> Response:
    api = CONTROLLER_APIS[type(request)]
    if not may_ask_for_tokens(context.connection):
        return api.refuse(request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "")
    try:
        response: Response = await node.calls.call(
            request, requester=context.principal, client_host=context.client_host
        )
    except ControllerUnavailable as error:
        return api.refuse(request, ErrorCode.REQUEST_TIMED_OUT, str(error))
    await catch_up(node.quorum)
    await node.in_step()
    return response


def may_ask_for_tokens(connection: Connection) -> bool:
    """Whether it is known who the client is, by more than a token."""
    protocol, sign_in = connection.listener.protocol, connection.sign_in
    if connection.peer is not None:
        return False
    if protocol.has_sasl:
        return sign_in is not None and sign_in.is_complete and not sign_in.is_by_token
    return protocol.has_tls and connection.principal != ANONYMOUS

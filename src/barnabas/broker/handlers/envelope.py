"""Envelope, version 0: a node forwards a client's request with the client's principal.

Only nodes may send it, and only the requests that are decided by who asks. It is not forwarded
again.
"""

from collections.abc import Coroutine
from typing import Any, Protocol

from barnabas.broker.control.active_controller import NotAgreed, NotController
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.control.controller_calls import ControllerCalls
from barnabas.broker.control.envelope import Opened, open_envelope
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse

_FORWARDED: dict[int, type[Request[Any]]] = {
    kind.API_KEY: kind for kind, api in CONTROLLER_APIS.items() if api.asks_who
}


class Needs(Protocol):
    """What this handler asks of the node."""

    calls: ControllerCalls


def handle(
    node: Needs, request: EnvelopeRequest, _: RequestContext
) -> Coroutine[Any, Any, EnvelopeResponse]:
    return _decided(node, open_envelope(request, _FORWARDED))


async def _decided(node: Needs, opened: Opened) -> EnvelopeResponse:
    try:
        response = await node.calls.decide_here(opened.request, requester=opened.requester)
    except NotController:
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    except NotAgreed as error:
        api = CONTROLLER_APIS[type(opened.request)]
        response = api.refuse(opened.request, ErrorCode.REQUEST_TIMED_OUT, str(error))
    return opened.answer(response)

"""The parts of a guard, and a route with one."""

from asyncio import Future
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.handlers.node_only_requests import refuse_share_state
from barnabas.broker.net.dispatcher import DelayedResponse, Outcome, RequestContext, Route
from barnabas.broker.runtime.slices import Slices
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response


class Needs(Protocol):
    """What guards ask of the node."""

    authorization: Authorization
    image: MetadataImage


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a request that is allowed."""

    request: Request[Any]
    finish: Callable[[Any], Response]
    """Adds the refusals to the response."""


Verdict = Response | Part | None
"""A refusal, the part that is allowed, or None: all of it is."""

Guard = Callable[[Needs, Any, RequestAccess, RequestContext], Verdict]

TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TRANSACTIONAL_ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

MESSAGES = {
    TOPIC_DENIED: "Topic authorization failed.",
    GROUP_DENIED: "Group authorization failed.",
    CLUSTER_DENIED: "Cluster authorization failed.",
    TRANSACTIONAL_ID_DENIED: "Transactional Id authorization failed.",
}
"""Kafka's words."""


ItemT = TypeVar("ItemT")
NodeT = TypeVar("NodeT", bound=Needs)


def split(
    items: list[ItemT], is_allowed: Callable[[ItemT], bool]
) -> tuple[list[ItemT], list[ItemT]]:
    """What is allowed, and what is denied."""
    allowed: list[ItemT] = []
    denied: list[ItemT] = []
    for item in items:
        (allowed if is_allowed(item) else denied).append(item)
    return allowed, denied


def anybody(_: Needs, __: Any, ___: RequestAccess, ____: RequestContext) -> Verdict:
    """The guard of an API for which no right is needed."""
    return None


def in_handler(_: Needs, __: Any, ___: RequestAccess, ____: RequestContext) -> Verdict:
    """The guard of an API whose handler checks what it needs by itself, because it depends on
    what it finds."""
    return None


def nodes_only(_: Needs, request: Any, __: RequestAccess, ___: RequestContext) -> Verdict:
    """The guard of an API for nodes. They never come here: guards judge clients."""
    if "error_code" not in request.RESPONSE.__slots__:
        return refuse_share_state(request)
    refusal: Response = request.RESPONSE(error_code=CLUSTER_DENIED)
    return refusal


def guarded(route: Route[NodeT], guard: Guard) -> Route[NodeT]:
    """The route with a guard before its handler, and without its short cut."""
    handle = route.handle
    api = route.request_type.__name__.removesuffix("Request")

    def checked(node: NodeT, request: Request[Any], context: RequestContext) -> Outcome:
        access = node.authorization.of(context.connection, api)
        if access.is_full:
            return handle(node, request, context)
        verdict = guard(node, request, access, context)
        if verdict is None:
            return handle(node, request, context)
        if isinstance(verdict, Response):
            return verdict
        return _finished(handle(node, verdict.request, context), verdict.finish)

    return replace(route, handle=checked, handle_in_place=None)


def _finished(outcome: Outcome, finish: Callable[[Any], Response]) -> Outcome:
    """The outcome with the refusals added, whatever form it has."""
    if outcome is None:
        return None
    if isinstance(outcome, Response):
        return finish(outcome)
    if isinstance(outcome, DelayedResponse):
        return _awaited(_responded(outcome), finish)
    if isinstance(outcome, Generator):
        return _sliced(outcome, finish)
    return _awaited(outcome, finish)


async def _awaited(
    outcome: "Future[Any] | Coroutine[Any, Any, Any]", finish: Callable[[Any], Response]
) -> Any:
    response = await outcome
    return None if response is None else finish(response)


async def _responded(delayed: DelayedResponse) -> Any:
    await delayed.wait
    response = delayed.respond()
    return await response if isinstance(response, Future) else response


def _sliced(outcome: Slices[Response], finish: Callable[[Any], Response]) -> Slices[Response]:
    response = yield from outcome
    return finish(response)

"""The parts of a guard, and a route with one."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.handlers.node_only_requests import refuse_share_state
from barnabas.broker.net.dispatcher import Outcome, RequestContext, Route, responded
from barnabas.broker.runtime.slices import Slicer, Slices, WorkTimer, awaited, begun, timed
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response


class Needs(Protocol):
    """What guards ask of the node."""

    authorization: Authorization
    image: MetadataImage


Finish = Callable[[Any], Response | Slices[Response]]
"""Adds the refusals to the response to what is allowed."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a request that is allowed."""

    request: Request[Any]
    finish: Finish


Verdict = Response | Part | None
"""A refusal, the part that is allowed, or None: all of it is."""

Guard = Callable[[Needs, Any, RequestAccess, RequestContext], Verdict | Slices[Verdict]]
"""Judges a request; one that names many resources in slices."""

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


def refusing(
    field: str, denied: Iterable[ItemT], refuse: Callable[[ItemT], Any], context: RequestContext
) -> Callable[[Any], Slices[Response]]:
    """What finishes a response: adds a refusal for each item that is denied to an array of it."""

    def finish(response: Response) -> Slices[Response]:
        refused = yield from Slicer(context.version).each(denied, refuse)
        setattr(response, field, getattr(response, field) + refused)
        return response

    return finish


def refusing_topics(
    field: str,
    denied: Iterable[ItemT],
    partitions_of: Callable[[ItemT], Iterable[Any]],
    refuse: Callable[[Any], Any],
    refuse_topic: Callable[[ItemT, list[Any]], Any],
    context: RequestContext,
) -> Callable[[Any], Slices[Response]]:
    """As `refusing`, for topics whose partitions are refused one by one."""

    def finish(response: Response) -> Slices[Response]:
        slicer = Slicer(context.version)
        refused = []
        for topic in denied:
            partitions = yield from slicer.each(partitions_of(topic), refuse)
            refused.append(refuse_topic(topic, partitions))
            if slicer.is_due():
                yield
        setattr(response, field, getattr(response, field) + refused)
        return response

    return finish


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
        if isinstance(verdict, Generator):
            verdict = begun(verdict)
            if isinstance(verdict, Generator):
                return judged_later(node, request, context, verdict)
        return judged(node, request, context, verdict)

    def judged(
        node: NodeT, request: Request[Any], context: RequestContext, verdict: Verdict
    ) -> Outcome:
        if verdict is None:
            return handle(node, request, context)
        if isinstance(verdict, Response):
            return verdict
        outcome = handle(node, verdict.request, context)
        return _finished(outcome, verdict.finish, context.quota)

    async def judged_later(
        node: NodeT, request: Request[Any], context: RequestContext, slices: Slices[Verdict]
    ) -> Any:
        timer = context.quota
        verdict = await awaited(slices, timer)
        outcome = timed(timer, lambda: judged(node, request, context, verdict))
        return await responded(outcome, timer)

    return replace(route, handle=checked, handle_in_place=None)


def _finished(outcome: Outcome, finish: Finish, timer: WorkTimer | None) -> Outcome:
    """The outcome with the refusals added, whatever form it has."""
    if outcome is None:
        return None
    if isinstance(outcome, Response):
        return finish(outcome)
    if isinstance(outcome, Generator):
        return _sliced(outcome, finish)
    return _awaited(outcome, finish, timer)


async def _awaited(outcome: Outcome, finish: Finish, timer: WorkTimer | None) -> Any:
    response = await responded(outcome, timer)
    return None if response is None else await responded(finish(response), timer)


def _sliced(outcome: Slices[Response], finish: Finish) -> Slices[Response]:
    response = yield from outcome
    finished = finish(response)
    return (yield from finished) if isinstance(finished, Generator) else finished

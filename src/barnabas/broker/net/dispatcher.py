"""From a frame to its handler and back to a frame.

The route table says which versions of which API are served; ApiVersions answers from the same
table, so nothing is advertised that is not served.
"""

import logging
from asyncio import AbstractEventLoop, Future, get_running_loop, shield, sleep
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.peer_authorization import ANY_CLIENT, PeerAuthorization
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.quotas.request_quota import RequestQuota
from barnabas.broker.runtime.request_parts import Parts
from barnabas.broker.runtime.slices import Slices, WorkTimer, awaited, timed
from barnabas.security.principal import Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import (
    OnErrors,
    RequestHeader,
    decode_request,
    decode_request_header,
    encode_response,
)
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.messages.share_fetch import ShareFetchResponse
from barnabas.wire.primitives import Buffer, Reader, WireError
from barnabas.wire.request_limits import RequestLimits, limits_of

logger = logging.getLogger(__name__)

_FAREWELL_S = 0.01

NodeT = TypeVar("NodeT")


@dataclass(frozen=True, slots=True)
class DelayedResponse:
    """A response that is built when the wait is over; not at all if the client has disconnected."""

    wait: Future[None]
    respond: Callable[[], Response | Future[Any]]
    """Returns the response, or a future of one that takes long to build."""


Outcome = (
    Response
    | Future[Any]
    | Coroutine[Any, Any, Response]
    | Slices[Response]
    | DelayedResponse
    | None
)
"""A response, a future of one, one that is built in slices, or none (a produce with acks=0)."""

_DECODED_HERE_BYTES = 8 * 1024
"""A larger request of a client without records is decoded in a thread: this many bytes may be
a thousand array elements and more, and what they ask for may take twenty milliseconds."""
_MAX_DECODING_BYTES = 64 << 20
"""Requests that wait for that thread, all together; further ones are refused."""


@dataclass(slots=True)
class RequestContext:
    """Who sent a request: its header and its connection."""

    header: RequestHeader
    connection: Connection
    quota: RequestQuota | None = None
    """None for a client without limits."""

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def client_id(self) -> str:
        return self.header.client_id or ""

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def principal(self) -> Principal:
        return self.connection.principal

    def disconnect_after_response(self, loop: AbstractEventLoop) -> None:
        """Close the connection after the response, so that the client asks another node.

        This node's metadata may be stale, and clients tend to ask the node that they asked last.
        """
        loop.call_later(_FAREWELL_S, self.connection.close)


@dataclass(frozen=True, slots=True)
class Route(Generic[NodeT]):
    """An API, its supported versions, and its handler.

    A handler takes the part of the node that it needs, the request and its context.
    """

    request_type: type[Request[Any]]
    handle: Callable[[NodeT, Any, RequestContext], Outcome]
    handle_in_place: "Callable[[NodeT, memoryview, Connection], Answer | Future[Answer]] | None" = (
        None
    )
    """A short cut for the API's simplest and most frequent requests: it answers a frame, or
    returns None, with nothing done, to have it handled the ordinary way."""
    peers_only: PeerAuthorization | None = None
    """Which requests of this API only nodes of the cluster may send."""
    has_records: bool = False
    """Whether its size says nothing about the time that decoding takes, since records are not
    decoded. Such requests of a connection may overlap, and must be handled as they arrive."""
    parts: Parts | None = None
    """How a large request is split, if its elements are decided one by one."""
    newest_version: int | None = None
    """The newest that is served, if that is not the newest there is."""

    @property
    def api_key(self) -> int:
        return self.request_type.API_KEY

    @property
    def limits(self) -> RequestLimits:
        return limits_of(self.request_type)

    @property
    def min_version(self) -> int:
        return self.request_type.MIN_VERSION

    @property
    def max_version(self) -> int:
        newest = self.newest_version
        return self.request_type.MAX_VERSION if newest is None else newest


class Dispatcher(Generic[NodeT]):
    """Finds the handler for each request and calls it with `node`."""

    def __init__(
        self,
        node: NodeT,
        routes: Sequence[Route[NodeT]],
        errors: RequestErrors | None = None,
        decoder: Executor | None = None,
    ) -> None:
        """Errors in answers are counted in `errors`. Large requests are decoded by `decoder`."""
        self._node = node
        self._decoder = decoder
        self._decoding_bytes = 0
        self._on_errors = None if errors is None else errors.add
        self._in_place = {
            route.api_key: route.handle_in_place for route in routes if route.handle_in_place
        }
        self._parts = {route.api_key: route.parts for route in routes if route.parts}
        self._handlers = {route.api_key: (route.handle, route.peers_only) for route in routes}
        self._routes = {
            route.api_key: (
                route.request_type,
                route.min_version,
                route.max_version,
                route.limits,
                route.has_records,
            )
            for route in routes
        }

    def serves(self, api_key: int) -> bool:
        return api_key in self._routes

    def dispatch(
        self, frame: memoryview, connection: Connection, quota: RequestQuota | None = None
    ) -> Answer | Future[Answer]:
        """Handle one request. Raises `WireError` if it is malformed.

        One with a quota takes no short cut if its answer may have to be throttled.
        """
        try:
            if (quota is None or quota.is_brief) and len(frame) > 1:
                in_place = self._in_place.get(frame[0] << 8 | frame[1])
                if in_place is not None:
                    answer = in_place(self._node, frame, connection)
                    if answer is not None:
                        return answer
            return self._handle(frame, connection, quota)
        except WireError:
            raise
        except Exception as error:  # a bug in one request must not take the broker down
            raise internal_error(connection, error) from error

    def _handle(
        self, frame: memoryview, connection: Connection, quota: RequestQuota | None
    ) -> Answer | Future[Answer]:
        r = Reader(frame)
        header = decode_request_header(r)
        version = header.api_version
        route = self._routes.get(header.api_key)
        if route is None:
            raise WireError(f"API {header.api_key} is not served")
        (
            request_type,
            min_version,
            max_version,
            limits,
            has_records,
        ) = route
        is_client = connection.peer is None
        r.elements_left = limits.elements if is_client else limits.peer_elements
        if not min_version <= version <= max_version:
            return self._unsupported_version(header, request_type)
        if r.end > limits.size:
            raise WireError(
                f"{request_type.__name__} has {r.end} bytes, the limit is {limits.size}"
            )
        if r.end > _DECODED_HERE_BYTES and not has_records and is_client:
            decoder = self._decoder
            if decoder is not None:
                context = RequestContext(header, connection, quota)
                return self._decoded_in_thread(decoder, r, request_type, context)
        request = decode_request(r, request_type, version)
        return self._decoded(request, RequestContext(header, connection, quota))

    def _decoded_in_thread(
        self,
        decoder: Executor,
        r: Reader,
        request_type: type[Request[Any]],
        context: RequestContext,
    ) -> Future[Answer]:
        """Handle a large request later: decoding it here would keep all others waiting.

        Only clients: the requests of a node may overlap, and must be handled as they arrive.
        """
        size = r.end
        if self._decoding_bytes + size > _MAX_DECODING_BYTES:
            raise WireError(f"{self._decoding_bytes} bytes of large requests wait already")
        r.buffer = bytes(r.buffer)  # the frame is a view into the receive buffer
        self._decoding_bytes += size
        loop = get_running_loop()
        decoding = loop.run_in_executor(
            decoder, decode_request, r, request_type, context.header.api_version
        )

        def decoded(_: Future[Any]) -> None:
            self._decoding_bytes -= size

        decoding.add_done_callback(decoded)
        return loop.create_task(self._when_decoded(decoder, decoding, context))

    async def _when_decoded(
        self, decoder: Executor, decoding: Future[Any], context: RequestContext
    ) -> Answer:
        header = context.header
        try:
            response = await self._in_parts(await shield(decoding), context)
            if response is None:
                return None
            quota = context.quota
            if quota is not None:
                response = quota.throttled(response)
            answer = await self._encoded_in_thread(decoder, response, header)
            if quota is not None:
                quota.encoded(response, answer)
        except WireError as error:
            context.connection.refuse(str(error))
            raise
        except Exception as error:
            context.connection.refuse(str(internal_error(context.connection, error)))
            raise
        return answer

    async def _encoded_in_thread(
        self, decoder: Executor, response: Response, header: RequestHeader
    ) -> list[Buffer]:
        """A large request often has a large response."""
        version, correlation_id = header.api_version, header.correlation_id
        if isinstance(response, FetchResponse | ShareFetchResponse):
            # It is built in slices, which are encoded, and must reach the socket soon.
            return encode_response(response, version, correlation_id, self._on_errors)
        codes: list[int] = []
        answer = await get_running_loop().run_in_executor(
            decoder,
            encode_response,
            response,
            version,
            correlation_id,
            lambda _, found: codes.extend(found),
        )
        if codes and self._on_errors is not None:
            self._on_errors(header.api_key, codes)
        return answer

    async def _in_parts(self, request: Request[Any], context: RequestContext) -> Response | None:
        """The response to a large request: where its parts are independent, one after the
        other."""
        parts = self._parts.get(context.header.api_key)
        if parts is None:
            outcome = self._outcome_of_late(request, context)
            only: Response | None = await responded(outcome, context.quota)
            return only
        whole: Response | None = None
        for part, continued in parts.split(request):
            response = await responded(self._outcome_of_late(part, context), context.quota)
            if whole is None:
                whole = response
            else:
                parts.join(whole, response, continued)
            await sleep(0)  # what is refused is decided without waiting for anything
        return whole

    def _outcome_of_late(self, request: Request[Any], context: RequestContext) -> Outcome:
        return timed(context.quota, lambda: self._outcome(request, context))

    def _decoded(self, request: Request[Any], context: RequestContext) -> Answer | Future[Answer]:
        header, quota, on_errors = context.header, context.quota, self._on_errors
        outcome = self._outcome(request, context)
        if outcome is None:
            return None
        if isinstance(outcome, Response):
            return _encoded(outcome, header, quota, on_errors)
        if isinstance(outcome, DelayedResponse):
            respond = outcome.respond
            return _encoded_later(outcome.wait, lambda _: respond(), header, quota, on_errors)
        if isinstance(outcome, Generator):
            try:
                next(outcome)
            except StopIteration as made:
                return _encoded(made.value, header, quota, on_errors)
            outcome = awaited(outcome, quota)
        if isinstance(outcome, Coroutine):
            outcome = get_running_loop().create_task(outcome)
        return _encoded_later(outcome, lambda response: response, header, quota, on_errors)

    def _outcome(self, request: Request[Any], context: RequestContext) -> Outcome:
        handle, peers_only = self._handlers[context.header.api_key]
        if peers_only is not None:
            sender_id = peers_only.sender(request, context.version)
            peer = context.connection.peer
            if sender_id != ANY_CLIENT and not peers_only.may_send(peer, sender_id):
                return peers_only.refuse(request)
        return handle(self._node, request, context)

    def _unsupported_version(
        self, header: RequestHeader, request_type: type[Request[Any]]
    ) -> Answer:
        """Answer an ApiVersions request of an unknown, later version with the supported
        versions."""
        if request_type is not ApiVersionsRequest:
            raise WireError(f"{request_type.__name__} v{header.api_version} is not served")
        own = ApiVersion(request_type.API_KEY, request_type.MIN_VERSION, request_type.MAX_VERSION)
        response = ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, [own])
        return encode_response(response, 0, header.correlation_id, self._on_errors)


async def responded(outcome: Outcome, timer: WorkTimer | None = None) -> Any:
    """The response, whatever the handler has returned; `timer` counts what it still takes."""
    if outcome is None or isinstance(outcome, Response):
        return outcome
    if isinstance(outcome, DelayedResponse):
        await outcome.wait
        response = timed(timer, outcome.respond)
        return await response if isinstance(response, Future) else response
    return await (awaited(outcome, timer) if isinstance(outcome, Generator) else outcome)


def internal_error(connection: Connection, error: Exception) -> WireError:
    """What a client gets for an unexpected error, which is logged."""
    logger.error("a request from %s failed", connection.client_host, exc_info=error)
    return WireError("an internal error; the broker's log has the details")


def _encoded(
    response: Response,
    header: RequestHeader,
    quota: RequestQuota | None,
    on_errors: OnErrors | None,
) -> list[Buffer]:
    if quota is None or quota.is_brief:
        return encode_response(response, header.api_version, header.correlation_id, on_errors)
    return quota.encode(response, header, on_errors)


def _encoded_later(
    wait: Future[Any],
    respond: Callable[[Any], Response | Future[Any] | None],
    header: RequestHeader,
    quota: RequestQuota | None,
    on_errors: OnErrors | None,
) -> Future[Answer]:
    encoded: Future[Answer] = wait.get_loop().create_future()
    outcome = wait

    def finish(done: Future[Any]) -> None:
        nonlocal outcome
        if encoded.cancelled():
            return
        if done.cancelled():
            encoded.cancel()
            return
        try:
            response = respond(done.result()) if done is wait else done.result()
            if isinstance(response, Future):
                outcome = response
                outcome.add_done_callback(on_done)
                return
            answer = None if response is None else _encoded(response, header, quota, on_errors)
        except Exception:
            # As in `dispatch`; without this the client would never get an answer.
            logger.exception("an answer of API %d v%d failed", header.api_key, header.api_version)
            encoded.cancel()
            return
        encoded.set_result(answer)

    def abandon(done: Future[Answer]) -> None:
        if done.cancelled():
            outcome.cancel()

    on_done = finish if quota is None or quota.is_brief else quota.timed(finish)
    outcome.add_done_callback(on_done)
    encoded.add_done_callback(abandon)
    return encoded

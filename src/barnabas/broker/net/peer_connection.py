"""One connection to another node: requests out, answers in, matched by their order.

First both ends authenticate (`peer_proof.py`), and agree on versions (`peer_versions.py`): the
question for these follows the proof at once, so that both cost two round trips. A node that is not
authenticated is asked only who it is.
"""

from asyncio import AbstractEventLoop, BufferedProtocol, Future, TimerHandle, Transport
from asyncio.transports import BaseTransport
from collections import deque
from typing import Generic, Protocol, TypeVar, cast

from barnabas.broker.net.peer_proof import MECHANISM, ProofError, Prover
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.peer_versions import (
    FIXED_VERSIONS,
    IncompatibleRelease,
    PeerVersions,
    versions_question,
)
from barnabas.self_connection import refuse_self_connection
from barnabas.wire.framing import correlation_id_of, decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.api_versions import ApiVersionsResponse
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.primitives import UnsupportedFieldError, WireError
from barnabas.wire.response_frames import FrameSizeError, ResponseFrames

ResponseT = TypeVar("ResponseT", bound=Response)

_MAX_RESPONSE_BYTES = 256 << 20
_IDLE_MS = 60_000
"""This side closes an unused connection before the other side does, which would look like a
crash."""
_PROOF_TIMEOUT_MS = 3_000
_REFUSAL_S = 0.1
"""Until a request fails that the other release does not serve: immediate retries must not spin."""
_FOR_STRANGERS = (DescribeClusterRequest, DescribeQuorumRequest)
"""Requests that may go to a node that is not known to be in this cluster."""


class PeerUnavailable(ConnectionError):  # noqa: N818 - reads as the fact it states
    """The node has not answered. It may or may not have received the request."""


class PeerTimedOut(PeerUnavailable):
    """The node has not answered this request, or an earlier one, in time. It may still be up."""


class PeerIsDown(PeerUnavailable):
    """The connection was refused: no process listens at that address."""


class Call(Generic[ResponseT]):
    """A request and the future of its response."""

    __slots__ = ("answer", "request", "version")

    def __init__(
        self, request: Request[ResponseT], version: int, answer: "Future[ResponseT]"
    ) -> None:
        self.request = request
        self.version = version
        self.answer = answer

    @property
    def name(self) -> str:
        return type(self.request).__name__.removesuffix("Request")

    def fail(self, error: PeerUnavailable) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Lane(Protocol):
    """The owner of a connection, which it notifies."""

    node_id: int
    loop: AbstractEventLoop
    clock: Clock
    client_id: str

    @property
    def proves(self) -> bool:
        """Whether nodes authenticate at all."""

    def prover(self) -> Prover | None:
        """What authenticates this node; None if it can't authenticate."""

    def proved(self) -> None: ...

    def not_proved(self, reason: str) -> None: ...

    def connected(self, connection: "PeerConnection") -> None: ...

    def answered(self) -> None: ...

    def lost(self, reason: str, *, by_peer: bool) -> None: ...


class PeerConnection(BufferedProtocol):
    """The protocol object that the event loop calls."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._transport: Transport | None = None
        self._frames = ResponseFrames(1, _MAX_RESPONSE_BYTES)
        self._unanswered: deque[tuple[int, Call[Response]]] = deque()
        self._last_correlation_id = 0
        self._used_ms = 0
        self._idle_timer: TimerHandle | None = None
        self._proof_timer: TimerHandle | None = None
        self._is_over = False
        self.is_to_itself = False
        """Whether TCP connected the socket to itself; then the lane is never notified of it."""
        self._prover: Prover | None = None
        self._hello: Call[Response] | None = None
        """The first message of the authentication; the answer to it is a challenge."""
        self._is_stranger = False
        self._proof: Call[Response] | None = None
        """This node's proof; the answer to it is the other node's proof, or a refusal."""
        self._question: Call[Response] | None = None
        """The question for the other node's versions, until it is answered."""
        self._versions: PeerVersions | None = None

    # -- called by the lane ------------------------------------------------------------------------

    def send(self, call: Call[Response]) -> None:
        if self._is_over or (self._is_stranger and not isinstance(call.request, _FOR_STRANGERS)):
            call.fail(PeerUnavailable(f"node {self._lane.node_id} is not known to be a peer"))
        else:
            try:
                if self._versions is not None:
                    call.version = self._versions.choose(call.request, call.version)
                elif self._is_stranger:
                    call.version = FIXED_VERSIONS[type(call.request)]
                self._send(call)
            except (IncompatibleRelease, UnsupportedFieldError) as error:
                reason = PeerUnavailable(f"node {self._lane.node_id}: {error}")
                self._lane.loop.call_later(_REFUSAL_S, call.fail, reason)

    def _send(self, call: Call[Response]) -> None:
        assert self._transport is not None
        self._last_correlation_id = (self._last_correlation_id + 1) & 0x7FFFFFFF
        frame = encode_request(
            call.request, call.version, self._last_correlation_id, self._lane.client_id
        )
        self._unanswered.append((self._last_correlation_id, call))
        self._used_ms = self._lane.clock.steady_ms()
        if self._transport.is_closing():
            # The connection is lost, and the event loop has yet to report it: writing would fail in
            # uvloop.
            self._end("the connection was lost", by_peer=True)
            return
        self._transport.writelines(frame)

    def is_waiting_for(self, call: Call[Response]) -> bool:
        return any(waiting is call for _, waiting in self._unanswered)

    def time_out(self, reason: str) -> None:
        """Close the connection after a timeout: the requests behind the late one get no answer
        either."""
        self._end(reason, by_peer=False, error=PeerTimedOut)

    def abandon(self, reason: str) -> None:
        """Close the connection from this side."""
        self._end(reason, by_peer=False)

    # -- called by the event loop ------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        if refuse_self_connection(transport):
            self._is_over = self.is_to_itself = True
            return
        self._transport = cast("Transport", transport)
        self._used_ms = self._lane.clock.steady_ms()
        self._watch_idleness(_IDLE_MS)
        self._prover = self._lane.prover()
        if self._prover is not None:
            self._proof_timer = self._lane.loop.call_later(
                _PROOF_TIMEOUT_MS / 1000, self._proof_timed_out
            )
            self._send(self._step(SaslHandshakeRequest(MECHANISM)))
            self._hello = self._step(SaslAuthenticateRequest(self._prover.hello))
            self._send(self._hello)
        else:
            self._is_stranger = self._lane.proves
            self._connected()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("the connection was lost" + (f": {exc}" if exc else ""), by_peer=True)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._frames.free()

    def buffer_updated(self, nbytes: int) -> None:
        self._frames.received(nbytes)
        try:
            while not self._is_over and (frame := self._frames.next_frame()) is not None:
                self._take(frame)
        except FrameSizeError as error:
            self._end(f"a frame of {error} bytes makes no sense", by_peer=False)

    # -- authentication ----------------------------------------------------------------------------

    def _step(self, request: Request[Response]) -> Call[Response]:
        answer: Future[Response] = self._lane.loop.create_future()
        answer.add_done_callback(lambda done: done.exception())  # the lane is notified anyway
        return Call(request, FIXED_VERSIONS[type(request)], answer)

    def _prove(self, response: SaslAuthenticateResponse) -> None:
        assert self._prover is not None
        if response.error_code:
            self._lane.not_proved(f"it says: {response.error_message}")
            self._is_stranger = True
            self._connected()
            return
        try:
            proof = self._prover.answer(bytes(response.auth_bytes))
        except ProofError as error:
            self._refuse(str(error))
            return
        self._proof = self._step(SaslAuthenticateRequest(proof))
        self._question = self._step(versions_question())
        self._send(self._proof)
        self._send(self._question)

    def _proof_answered(self, response: SaslAuthenticateResponse) -> None:
        assert self._prover is not None
        if response.error_code:
            self._refuse(f"it says: {response.error_message}")
            return
        try:
            self._prover.check(bytes(response.auth_bytes))
        except ProofError as error:
            self._refuse(str(error))
        else:
            self._lane.proved()

    def _refuse(self, reason: str) -> None:
        self._lane.not_proved(reason)
        self._end(reason, by_peer=False)

    def _negotiated(self, response: ApiVersionsResponse) -> None:
        self._question = None
        if response.error_code:
            self._end(f"it does not report its versions: {response.error_code}", by_peer=False)
            return
        self._versions = PeerVersions(response)
        self._connected()

    def _proof_timed_out(self) -> None:
        self._end("it has not proved itself in time", by_peer=False, error=PeerTimedOut)

    def _connected(self) -> None:
        if self._proof_timer is not None:
            self._proof_timer.cancel()
        if not self._is_over:
            self._lane.connected(self)
            self._end_if_stranger()

    def _end_if_stranger(self) -> None:
        """Close it if the node is not authenticated: it may join the cluster soon, and must then
        authenticate."""
        if self._is_stranger and not self._unanswered:
            self._end("it is not known to be a peer", by_peer=False)

    # -- the rest ----------------------------------------------------------------------------------

    def _take(self, frame: bytearray) -> None:
        try:
            if not self._unanswered or self._unanswered[0][0] != correlation_id_of(frame):
                raise WireError("it sent an answer without a request")
            call = self._unanswered[0][1]
            response = decode_response(memoryview(frame), call.request.RESPONSE, call.version)
        except WireError as error:
            self._end(f"an answer makes no sense: {error}", by_peer=False)
            return
        self._unanswered.popleft()
        if isinstance(response, SaslHandshakeResponse):
            return  # the next answer shows whether it was accepted
        if call is self._hello:
            assert isinstance(response, SaslAuthenticateResponse)
            self._prove(response)
            return
        if call is self._proof:
            assert isinstance(response, SaslAuthenticateResponse)
            self._proof_answered(response)
            return
        if call is self._question:
            assert isinstance(response, ApiVersionsResponse)
            self._negotiated(response)
            return
        self._lane.answered()
        if not call.answer.done():
            call.answer.set_result(response)
        self._end_if_stranger()

    def _end(
        self, reason: str, *, by_peer: bool, error: type[PeerUnavailable] = PeerUnavailable
    ) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._proof_timer is not None:
            self._proof_timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        unanswered, self._unanswered = self._unanswered, deque()
        for _, call in unanswered:
            call.fail(error(f"node {self._lane.node_id}: {reason}"))
        self._lane.lost(reason, by_peer=by_peer)

    def _watch_idleness(self, wait_ms: int) -> None:
        self._idle_timer = self._lane.loop.call_later(wait_ms / 1000, self._end_if_idle)

    def _end_if_idle(self) -> None:
        idle_ms = self._lane.clock.steady_ms() - self._used_ms
        if idle_ms >= _IDLE_MS and not self._unanswered:
            self._end("it was idle", by_peer=False)
        else:
            self._watch_idleness(max(_IDLE_MS - idle_ms, _IDLE_MS // 10))

"""One client's connection: frames in, answers out, in the order of the requests.

Most requests are answered at once. One that has to wait (a long poll, a join) parks its answer, and
the requests behind it wait until it is answered. Requests that may overlap with it
(`request_order`) are handled meanwhile, and answered after it. The connection stops reading when
many bytes are pending, when too many or too large answers are parked, when the client does not
read its answers, or when it is muted because it exceeds a quota.

A client may close its side as soon as it has sent its requests: the broker still handles those that
have arrived completely, one after the other. If the connection breaks, requests that have not begun
are dropped.
"""

from asyncio import BufferedProtocol, Future, Transport, get_running_loop
from asyncio.transports import BaseTransport
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from barnabas.broker.net.connection_count import ConnectionCount, FrameLimit
from barnabas.broker.net.foreign_protocol import foreign_protocol
from barnabas.broker.net.listener import OPEN, Listener
from barnabas.broker.net.muting import Muting
from barnabas.broker.net.peer_proof import PeerIdentity, Verifier
from barnabas.broker.net.receive_buffer import INITIAL_BYTES, FrameTooLargeError, ReceiveBuffer
from barnabas.broker.net.request_order import RequestKind, kind_of, may_overlap
from barnabas.broker.net.sign_in.state import SignIn
from barnabas.broker.net.unproved_nodes import may_be_of_node
from barnabas.security.address import canonical_address
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.wire.primitives import Buffer, WireError

MAX_PARKED = 64
MAX_PARKED_BYTES = 16 << 20
"""Bytes of finished answers that may wait for an earlier answer before reading stops."""
MAX_WAITING_BYTES = 16 * 1024
"""How many bytes are read behind a request that has to be answered first."""
_WRITE_HIGH_WATER = 16 * 1024
"""An answer is unread if more than this many bytes of it are left that the socket did not take.
They count against the limit, and no further request is handled until the client reads them. Fewer
bytes count nowhere, for each of up to `max.connections`."""
_WRITE_TOGETHER = 64
"""Buffers collected before they are written, so that a client that stops reading is noticed in
time."""

_TURN_BYTES = 32 * 1024
"""Bytes of requests handled in one turn of the event loop: one connection that has sent many
requests at once must not keep all others waiting."""

_COPIED_TOGETHER = 16 * 1024
"""Buffers whose total is smaller than this are cheaper to copy than to write one by one."""

_PROBATION_BYTES = 1024


class RequestHeld(Exception):  # noqa: N818 - an expected outcome
    """The request is to be handled later: when the connection is no longer muted, or is resumed."""


Answer = list[Buffer] | None
"""The buffers of a response frame; None if the client wants no answer."""


class Dispatch(Protocol):
    """Handles a frame. Raises `WireError` if the frame is malformed."""

    def __call__(
        self, frame: memoryview, connection: "Connection"
    ) -> "Answer | Future[Answer]": ...


class Connection(BufferedProtocol):
    """The protocol object that the event loop calls."""

    __slots__ = (
        "_answers",
        "_closing",
        "_connections",
        "_continues",
        "_counted",
        "_dispatch",
        "_frame_limit",
        "_held_since",
        "_is_held",
        "_muting",
        "_reading",
        "_ready",
        "_received",
        "_sign_in_dispatch",
        "_transport",
        "_under_way",
        "_watchers",
        "_writable",
        "awaited_quota",
        "client_host",
        "client_port",
        "ended_by_client",
        "has_ended",
        "is_throttled",
        "last_active",
        "listener",
        "local_host",
        "on_lost",
        "opened",
        "peer",
        "principal",
        "probation",
        "proof",
        "sign_in",
        "software",
    )

    def __init__(
        self, dispatch: Dispatch, connections: ConnectionCount, listener: Listener = OPEN
    ) -> None:
        self._dispatch = dispatch
        self._connections = connections
        self._frame_limit: FrameLimit = connections
        self._received = ReceiveBuffer()
        self._counted = 0
        """The size of the receive buffer as it was counted; 0 unless a large request is arriving in
        it."""
        self._answers: deque[Answer | Future[Answer]] = deque()
        """The first parked answer and all after it."""
        self._under_way = RequestKind.ORDINARY
        """The kind of the requests in `_answers`; all are of one kind."""
        self._transport: Transport | None = None
        self._writable = True
        self._ready = True
        """Whether requests may be handled: the client reads its answers, and the connection is
        neither muted nor held."""
        self._is_held = False
        """Whether a request is still being taken in, so that no later one may be handled."""
        self._muting: Muting | None = None
        """None if the connection was never muted."""
        self._held_since = 0.0
        """Since when a request waits for an earlier one of this connection, or for a quota."""
        self._watchers: list[Callable[[], bool]] = []
        """Called whenever answers may have been sent, until they return True."""
        self._reading = True
        self._continues = False
        """Whether requests that have arrived are handled in the next turn of the event loop."""
        self._closing = False
        self.has_ended = False
        """Whether the client has closed its side, or this side is about to; earlier requests are
        still answered."""
        self.ended_by_client = False
        """Whether the connection is lost, and this side had not closed it."""
        self.listener = listener
        self.principal: Principal = ANONYMOUS
        self.client_host = "?"
        self.client_port = 0
        self.software = ("", "")
        """Name and version of the client's library, as it has said in ApiVersions."""
        self.local_host = "localhost"
        self.opened = self.last_active = connections.now()
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost."""
        self.peer: PeerIdentity | None = None
        """The node at the other end, once it is authenticated."""
        self.probation: str | None = None
        """The limit that the connection exceeds: it is closed unless a node authenticates on it."""
        self.awaited_quota = False
        """Whether the first request has waited, if the client was over its quota by then."""
        self.is_throttled = False
        """Whether requests wait until the probation ends, because its address connects too fast."""
        self.proof: Verifier | None = None
        """The pending authentication of a node, between its hello and its proof."""
        self._sign_in_dispatch = dispatch
        """Where requests go until the client has signed in."""
        self.sign_in: SignIn | None = None
        """The sign-in of the client; None on a listener without SASL."""

    # -- called by the event loop ------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast("Transport", transport)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        if peer:
            self.client_host = canonical_address(str(peer[0]))
            self.client_port = peer[1]
        if local:
            self.local_host = str(local[0])
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH_WATER)
        self._connections.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.ended_by_client = not self._closing
        self._closing = True
        self._transport = None
        if self._muting is not None:
            self._muting.cancel()
        for answer in self._answers:
            if isinstance(answer, Future):
                answer.cancel()
        self._answers.clear()
        self._connections.unread.forget(self)
        self._connections.arriving.forget(self)
        self._connections.leave(self)
        self._call_watchers()
        if self.sign_in is not None:
            self.sign_in.end()
        if self.on_lost is not None:
            self.on_lost()

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._received.free()

    def buffer_updated(self, nbytes: int) -> None:
        self._received.received(nbytes)
        self.last_active = self._connections.now()
        self._handle_frames()
        if self._received.pending > INITIAL_BYTES or self._counted:
            self._count()

    def eof_received(self) -> bool:
        """Whether to stay open: only if requests have arrived and not begun."""
        self.has_ended = not self._closing and self._received.has_frame
        return self.has_ended

    def pause_writing(self) -> None:
        self._writable = self._ready = False

    def resume_writing(self) -> None:
        self._writable = True
        self._ready = self._may_handle
        self._connections.unread.forget(self)
        self.last_active = self._connections.now()
        if self._watchers:
            self._call_watchers()
        self.resume()

    # -- called by the broker ----------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        return self._transport is None

    @property
    def age_s(self) -> float:
        return self._connections.now() - self.opened

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._answers)

    @property
    def waiting_since(self) -> float:
        """Since when the request that is handled now has waited: a time of the event loop."""
        return self._held_since or self.last_active

    @property
    def muted_s(self) -> float:
        """For how much longer nothing is read, because the client is over a quota."""
        return 0.0 if self._muting is None else self._muting.left_s

    @property
    def is_writable(self) -> bool:
        """Whether the client reads its answers, or is gone."""
        return self._writable or self._transport is None

    def owes(self, answer: "Answer | Future[Answer]") -> bool:
        """Whether the answer waits for one of an earlier request."""
        return any(each is answer for each in self._answers)

    def when_sent(self, watcher: Callable[[], bool]) -> None:
        """Call `watcher` now, and whenever answers may have been sent, until it returns True."""
        if not watcher():
            self._watchers.append(watcher)

    def _call_watchers(self) -> None:
        self._watchers = [watcher for watcher in self._watchers if not watcher()]

    @property
    def has_signed_in(self) -> bool:
        """Whether the client has signed in, where that is asked for, or is a node."""
        return self.sign_in is None or self.sign_in.is_complete or self.peer is not None

    @property
    def is_admitted(self) -> bool:
        """Whether all requests are served: the client has signed in, and its session goes on."""
        sign_in = self.sign_in
        if sign_in is None or self.peer is not None:
            return True
        return sign_in.is_complete and not sign_in.is_expired

    def require_sign_in(self, sign_in: SignIn, dispatch: Dispatch) -> None:
        """Send requests to `dispatch`, in small frames, until `admit` is called."""
        self.sign_in = sign_in
        self._sign_in_dispatch = dispatch
        self._frame_limit = sign_in
        self._dispatch = dispatch

    def end_session(self) -> None:
        """Serve nothing until the client has signed in again."""
        if self.sign_in is not None and self.peer is None:
            self.sign_in.is_expired = True
            self.require_sign_in(self.sign_in, self._sign_in_dispatch)

    def admit(self, dispatch: Dispatch) -> None:
        """The client has signed in, or a node has proved itself: serve all requests."""
        self._frame_limit = self._connections
        self._dispatch = dispatch

    def use(self, dispatch: Dispatch) -> None:
        """Send all further requests to `dispatch`, unless the client has yet to sign in."""
        if self.is_admitted:
            self._dispatch = dispatch

    def mute(self, throttle_ms: int, now_ms: Callable[[], int]) -> None:
        """Handle and read nothing more for a while; answers are still sent."""
        if self._closing:
            return
        if self._muting is None:
            self._muting = Muting(self._unmute, now_ms)
        self._muting.extend(throttle_ms)
        self._ready = False
        self._set_reading(False)

    def hold(self) -> None:
        """Handle and read nothing more until `release`: the request that is handled now is taken in
        over several turns, from the receive buffer, and later ones must not overtake it."""
        self._is_held = True
        self._ready = False
        self._set_reading(False)

    def release(self) -> None:
        self._is_held = False
        if self._transport is not None:
            self._unmute()

    def resume(self) -> None:
        """Handle what has arrived and was kept back by `RequestHeld`."""
        self._handle_frames()
        if self._counted:
            self._count()

    @property
    def _may_handle(self) -> bool:
        is_muted = self._muting is not None and self._muting.is_on
        return self._writable and not self._is_held and not is_muted

    def _unmute(self) -> None:
        self._ready = self._may_handle
        self.last_active = self._connections.now()
        self.resume()

    def shrink(self) -> None:
        """Free the receive buffer, if it is empty."""
        self._received.shrink()

    def _count(self) -> None:
        """Count the receive buffer's size against the limit, for as long as it is needed."""
        if self._is_held and self._transport is not None:
            return  # the request that is taken in is still in it
        if self._received.pending <= INITIAL_BYTES:
            self._counted = 0
            self._connections.arriving.forget(self)
            self._received.release()
        elif self._received.capacity != self._counted and self._transport is not None:
            grown, self._counted = self._received.capacity - self._counted, self._received.capacity
            self._connections.arriving.add(self, grown)

    def stop_accepting_requests(self) -> None:
        """Read and handle no further request; pending answers are still sent."""
        self._set_reading(False)
        self._closing = True
        self._received.drop()
        if self._counted:
            self._count()

    def finish(self) -> None:
        """Read and handle no further request, and close once the pending answers are written."""
        self.stop_accepting_requests()
        self.has_ended = True

    def close(self) -> None:
        """Close after everything written has been sent."""
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def refuse(self, why: str) -> None:
        """Close a connection whose client broke a rule, and log which rule."""
        if not self._closing:
            self._connections.refused.say(self.client_host, why)
            self.close()

    def _too_large(self, size: int, max_bytes: int) -> None:
        if self.probation is None and max_bytes < self._frame_limit.max_request_bytes:
            self._handle_frames()  # a frame before this one authenticated it
        else:
            self._refuse_size(size, max_bytes)

    def _refuse_size(self, size: int, max_bytes: int) -> None:
        """Close a connection that announces a request of `size` bytes; it may speak another
        protocol."""
        foreign = foreign_protocol(size)
        if foreign is not None and self.probation is None and not self._closing:
            self._connections.foreign.say(self.client_host, foreign, self._connections.now())
            self.close()
        else:
            self.refuse(
                self.probation or f"a request of {size} bytes; {self._size_setting} is {max_bytes}"
            )

    @property
    def _size_setting(self) -> str:
        if self._frame_limit is self._connections:
            return "socket.request.max.bytes"
        return "the client has not signed in, and sasl.server.max.receive.size"

    # -- frames ------------------------------------------------------------------------------------

    def _handle_frames(self) -> None:
        """Handle the frames that have arrived, as long as their answers can be stored.

        Answers that are ready are collected and written together: one system call for all requests
        of one read.
        """
        received = self._received
        is_on_probation = self.probation is not None
        max_bytes = _PROBATION_BYTES if is_on_probation else self._frame_limit.max_request_bytes
        dispatch = self._dispatch_proof if is_on_probation else self._dispatch
        answers = self._answers
        parked_bytes = sum(map(_ready_bytes, answers)) if answers else 0
        written: list[Buffer] = []
        must_wait = False
        turn_bytes = _TURN_BYTES
        while (
            self._ready
            and not self._closing
            and len(answers) < MAX_PARKED
            and parked_bytes < MAX_PARKED_BYTES
        ):
            if turn_bytes <= 0 and received.has_frame:
                self._write(written)
                self._held_since = 0.0
                self._handle_more_later()
                return
            try:
                frame = received.next_frame(max_bytes)
                if frame is None:
                    break
                if answers and not may_overlap(self._under_way, kind_of(frame)):
                    received.put_back(frame)
                    must_wait = True
                    break
                turn_bytes -= len(frame)
                answer = dispatch(frame, self)
            except RequestHeld:
                assert frame is not None
                received.put_back(frame)
                must_wait = True
                break
            except FrameTooLargeError as error:
                self._write(written)
                self._too_large(int(str(error)), max_bytes)
                return
            except WireError as error:
                self._write(written)
                self.refuse(str(error))
                return
            if isinstance(answer, Future):
                if not answers:
                    self._under_way = kind_of(frame)
                answers.append(answer)
                answer.add_done_callback(self._answered)
            elif answers:
                answers.append(answer)
                parked_bytes += _ready_bytes(answer)
            elif answer is not None:
                self._collect(written, answer)
        self._write(written)
        self._held_since = (self._held_since or self._connections.now()) if must_wait else 0.0
        if self.has_ended:
            if not answers and self._ready:
                self.close()
            return
        must_wait = must_wait or bool(answers and self._under_way is RequestKind.ORDINARY)
        has_room = (
            len(answers) < MAX_PARKED
            and parked_bytes < MAX_PARKED_BYTES
            and not (must_wait and received.pending >= MAX_WAITING_BYTES)
        )
        self._set_reading(self._ready and has_room)

    def _handle_more_later(self) -> None:
        """Let others be served before the next requests, which have arrived already."""
        self._set_reading(False)
        if not self._continues:
            self._continues = True
            get_running_loop().call_soon(self._handle_more)

    def _handle_more(self) -> None:
        self._continues = False
        self.resume()

    def _dispatch_proof(
        self, frame: memoryview, connection: "Connection"
    ) -> "Answer | Future[Answer]":
        """Over the limits: a node may authenticate, and send what it sends before that. A client
        may not sign in: the limits bound how fast passwords can be guessed."""
        if self.probation is not None and not may_be_of_node(frame):
            if self.is_throttled:
                return get_running_loop().create_future()
            raise WireError(self.probation)
        return self._dispatch(frame, connection)

    def _collect(self, written: list[Buffer], answer: list[Buffer]) -> None:
        """Queue `answer` for writing, together with others."""
        written += answer
        # More than one buffer: records by reference, which may be many megabytes.
        if len(answer) > 1 or len(written) > _WRITE_TOGETHER:
            self._write(written)

    def _write(self, buffers: list[Buffer]) -> None:
        if not buffers or self._transport is None:
            return
        if len(buffers) > 1 and sum(map(len, buffers)) < _COPIED_TOGETHER:
            self._transport.write(b"".join(buffers))
        else:
            self._transport.writelines(buffers)
        if not self._writable:
            self._connections.unread.add(self, sum(map(len, buffers)))
        buffers.clear()

    def _set_reading(self, reading: bool) -> None:
        if reading == self._reading or self._transport is None or self._closing:
            return
        self._reading = reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _answered(self, _: "Future[Answer]") -> None:
        """Send every answer that is ready and has no unanswered request before it."""
        answers = self._answers
        written: list[Buffer] = []
        while answers:
            answer = answers[0]
            if isinstance(answer, Future):
                if not answer.done():
                    break
                if answer.cancelled() or answer.exception() is not None:
                    self._write(written)
                    self.close()
                    return
                answer = answer.result()
            answers.popleft()
            if answer is not None:
                self._collect(written, answer)
        self._write(written)
        if self._watchers:
            self._call_watchers()
        if self._received.pending or not self._reading or self.has_ended:
            self._handle_frames()
            if self._counted:
                self._count()


def _ready_bytes(answer: "Answer | Future[Answer]") -> int:
    if isinstance(answer, Future):
        if not answer.done() or answer.cancelled() or answer.exception() is not None:
            return 0
        answer = answer.result()
    return 0 if answer is None else sum(map(len, answer))

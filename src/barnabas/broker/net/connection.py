"""One client's connection: frames in, answers out, in the order of the requests.

Most requests are answered at once. One that has to wait (a long poll, a join) parks its answer, and
the requests behind it wait until it is answered. Requests that may overlap with it
(`request_order`) are handled meanwhile, and answered after it. The connection stops reading when
many bytes are pending, when too many or too large answers are parked, or when the client does not
read its answers.

A client may close its side as soon as it has sent its requests: the broker still handles those that
have arrived completely, one after the other. If the connection breaks, requests that have not begun
are dropped.
"""

import logging
from asyncio import BufferedProtocol, Future, Transport
from asyncio.transports import BaseTransport
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from barnabas.broker.net.foreign_protocol import ForeignClients, foreign_protocol
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.peer_proof import PeerIdentity, Verifier
from barnabas.broker.net.receive_buffer import INITIAL_BYTES, FrameTooLargeError, ReceiveBuffer
from barnabas.broker.net.request_order import RequestKind, kind_of, may_overlap
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import Buffer, WireError

logger = logging.getLogger(__name__)

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

_COPIED_TOGETHER = 16 * 1024
"""Buffers whose total is smaller than this are cheaper to copy than to write one by one."""

_PROBATION_BYTES = 1024
_FROM_UNPROVED_NODES = frozenset(
    request.API_KEY
    for request in (
        SaslHandshakeRequest,
        SaslAuthenticateRequest,
        DescribeClusterRequest,
        DescribeQuorumRequest,
    )
)

Answer = list[Buffer] | None
"""The buffers of a response frame; None if the client wants no answer."""


class Dispatch(Protocol):
    """Handles a frame. Raises `WireError` if the frame is malformed."""

    def __call__(
        self, frame: memoryview, connection: "Connection"
    ) -> "Answer | Future[Answer]": ...


class ConnectionCount(Protocol):
    """Admits connections and counts them."""

    max_request_bytes: int
    arriving: HeldMemory
    """Memory held by requests that have not arrived completely."""
    unread: HeldMemory
    """Memory held by answers that clients have not read."""
    foreign: ForeignClients

    def enter(self, connection: "Connection") -> None:
        """Admit the connection, or put it on probation."""

    def leave(self, connection: "Connection") -> None: ...

    def now(self) -> float: ...


class Connection(BufferedProtocol):
    """The protocol object that the event loop calls."""

    __slots__ = (
        "_answers",
        "_closing",
        "_connections",
        "_counted",
        "_dispatch",
        "_reading",
        "_received",
        "_transport",
        "_under_way",
        "_writable",
        "client_host",
        "has_ended",
        "last_active",
        "local_host",
        "on_lost",
        "opened",
        "peer",
        "probation",
        "proof",
    )

    def __init__(self, dispatch: Dispatch, connections: ConnectionCount) -> None:
        self._dispatch = dispatch
        self._connections = connections
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
        self._reading = True
        self._closing = False
        self.has_ended = False
        """Whether the client has closed its side; requests that it sent before are still
        handled."""
        self.client_host = "?"
        self.local_host = "localhost"
        self.opened = self.last_active = connections.now()
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost."""
        self.peer: PeerIdentity | None = None
        """The node at the other end, once it is authenticated."""
        self.probation: str | None = None
        """The limit that the connection exceeds: it is closed unless a node authenticates on it."""
        self.proof: Verifier | None = None
        """The pending authentication of a node, between its hello and its proof."""

    # -- called by the event loop ------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast("Transport", transport)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        if peer:
            self.client_host = str(peer[0])
        if local:
            self.local_host = str(local[0])
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH_WATER)
        self._connections.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._closing = True
        self._transport = None
        for answer in self._answers:
            if isinstance(answer, Future):
                answer.cancel()
        self._answers.clear()
        self._connections.unread.forget(self)
        self._connections.arriving.forget(self)
        self._connections.leave(self)
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
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._connections.unread.forget(self)
        self.last_active = self._connections.now()
        self._handle_frames()
        if self._counted:
            self._count()

    # -- called by the broker ----------------------------------------------------------------------

    @property
    def age_s(self) -> float:
        return self._connections.now() - self.opened

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._answers)

    def use(self, dispatch: Dispatch) -> None:
        """Send all further requests to `dispatch`."""
        self._dispatch = dispatch

    def shrink(self) -> None:
        """Free the receive buffer, if it is empty."""
        self._received.shrink()

    def _count(self) -> None:
        """Count the receive buffer's size against the limit, for as long as it is needed."""
        if self._received.pending <= INITIAL_BYTES:
            self._counted = 0
            self._connections.arriving.forget(self)
            self._received.release()
        elif self._received.capacity != self._counted and self._transport is not None:
            grown, self._counted = self._received.capacity - self._counted, self._received.capacity
            self._connections.arriving.add(self, grown)

    def stop_accepting_requests(self) -> None:
        """Handle no further request; pending answers are still sent."""
        self._closing = True

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
            logger.warning("connection from %s closed: %s", self.client_host, why)
            self.close()

    def _refuse_size(self, size: int, max_bytes: int) -> None:
        """Close a connection that announces a request of `size` bytes; it may speak another
        protocol."""
        foreign = foreign_protocol(size)
        if foreign is not None and self.probation is None and not self._closing:
            self._connections.foreign.say(self.client_host, foreign, self._connections.now())
            self.close()
        else:
            self.refuse(
                self.probation
                or f"a request of {size} bytes; socket.request.max.bytes is {max_bytes}"
            )

    # -- frames ------------------------------------------------------------------------------------

    def _handle_frames(self) -> None:
        """Handle the frames that have arrived, as long as their answers can be stored.

        Answers that are ready are collected and written together: one system call for all requests
        of one read.
        """
        received = self._received
        is_on_probation = self.probation is not None
        max_bytes = _PROBATION_BYTES if is_on_probation else self._connections.max_request_bytes
        dispatch = self._dispatch_proof if is_on_probation else self._dispatch
        answers = self._answers
        parked_bytes = sum(map(_ready_bytes, answers)) if answers else 0
        written: list[Buffer] = []
        must_wait = False
        while (
            self._writable
            and not self._closing
            and len(answers) < MAX_PARKED
            and parked_bytes < MAX_PARKED_BYTES
        ):
            try:
                frame = received.next_frame(max_bytes)
                if frame is None:
                    break
                if answers and not may_overlap(self._under_way, kind_of(frame)):
                    received.put_back(frame)
                    must_wait = True
                    break
                answer = dispatch(frame, self)
            except FrameTooLargeError as error:
                self._write(written)
                if is_on_probation and self.probation is None:
                    self._handle_frames()  # a frame before this one authenticated it
                else:
                    self._refuse_size(int(str(error)), max_bytes)
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
        if self.has_ended:
            if not answers and self._writable:
                self.close()
            return
        must_wait = must_wait or bool(answers and self._under_way is RequestKind.ORDINARY)
        has_room = (
            len(answers) < MAX_PARKED
            and parked_bytes < MAX_PARKED_BYTES
            and not (must_wait and received.pending >= MAX_WAITING_BYTES)
        )
        self._set_reading(self._writable and has_room)

    def _dispatch_proof(
        self, frame: memoryview, connection: "Connection"
    ) -> "Answer | Future[Answer]":
        """Over the limits: a node may authenticate, and send what it sends before that."""
        if self.probation is not None and int.from_bytes(frame[:2]) not in _FROM_UNPROVED_NODES:
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

"""Requests to other nodes, over connections that are opened when needed, one per node and lane.

A lane is a kind of traffic with a separate connection: a node answers the requests of one
connection in order, so a long poll would delay the answers behind it. (The requests of nodes are
handled concurrently, though: see `net/request_order.py`.)

Every call ends: with the answer, with `PeerUnavailable` when there is no connection or it is lost,
or with `PeerTimedOut`. A call that times out closes its connection, because the requests behind it
wait for the same answer, and because a connection through a network partition may take long to
recover after the partition has healed. No request is ever sent twice.

After a failure the next attempt backs off, from 20 ms up to 500 ms; calls made meanwhile wait for
it and share its outcome. So immediate retries are slowed down, and a node with no pending calls is
not connected to.

On a new connection both ends prove that they belong to the same cluster (`peer_proof.py`). If that
fails, and before this node is in a cluster, the other node is asked only who it is, and the
connection is not kept. Then they agree on the versions of requests (`peer_versions.py`), as the
other node may run another release.
"""

import logging
from asyncio import AbstractEventLoop, CancelledError, Future, TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from ssl import SSLError
from typing import Any, TypeVar

from barnabas.backoff import Backoff
from barnabas.broker.net.listener_tls import ListenerTls
from barnabas.broker.net.peer_connection import (
    Call,
    PeerConnection,
    PeerIsDown,
    PeerTimedOut,
    PeerUnavailable,
)
from barnabas.broker.net.peer_proof import NONCE_BYTES, NOT_JOINED, Credentials, Prover
from barnabas.broker.net.request_order import PEER_CLIENT_ID
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.loop_stalls import NOTICED_MS
from barnabas.broker.runtime.release import Release
from barnabas.tls.failures import why_handshake_failed
from barnabas.wire.message import Request, Response

__all__ = [
    "PeerIsDown",
    "PeerTimedOut",
    "PeerUnavailable",
    "Peers",
    "claims_to_be_peer",
    "peer_client_id",
]

logger = logging.getLogger(__name__)

ResponseT = TypeVar("ResponseT", bound=Response)

_CONNECT_TIMEOUT_MS = 1_000
"""TCP resends a lost handshake packet after one second, then after two more: a new attempt is
faster."""
_TLS_CONNECT_TIMEOUT_MS = 3_000
"""A handshake takes two more round trips, and some computing on both sides."""
_HEAR_FIRST_S = 0.01
_BACKOFF_MS = Backoff(20, 500)


def peer_client_id(node_id: int) -> str:
    """The client id that a node uses in requests to other nodes."""
    return f"{PEER_CLIENT_ID}{node_id}"


def claims_to_be_peer(client_id: str) -> bool:
    """Whether the client id is a node's. A client may claim one too, so use this only where that
    does no harm.

    `Connection.peer` is a node that has authenticated.
    """
    return client_id.startswith(PEER_CLIENT_ID)


class Peers:
    """The outgoing connections of a node."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        addresses_of: Callable[[int], Sequence[tuple[str, int]]],
        on_lost: Callable[[int], None],
        client_id: str,
        credentials: Callable[[], Credentials | None] | None = None,
        randbytes: Callable[[int], bytes] = bytes,
        tls: ListenerTls | None = None,
        release: Release | None = None,
    ) -> None:
        """`addresses_of` returns where a node may be found, the likeliest address first: if it
        can't be asked there, the next attempt is made at the next one.

        `on_lost` is called with a node that has closed a connection, once per connection. It is
        not called for connections that this node closes: after a timeout, when idle, or by `close`.

        `credentials` returns what this node authenticates with, None until it is in a cluster.
        Without the function no node authenticates, and all are trusted. `tls` encrypts the
        connections, and verifies the certificates of the other nodes. `release` is this node's
        own.
        """
        self.loop = loop
        self.clock = clock
        self.addresses_of = addresses_of
        self.on_lost = on_lost
        self.client_id = client_id
        self.is_closed = False
        self._credentials = credentials
        self._randbytes = randbytes
        self.tls = tls
        self._release = release or Release()
        self._lanes: dict[tuple[int, str], _Lane] = {}
        self._refusals: dict[int, str] = {}
        """Why a node last refused to authenticate this one."""

    def call(
        self,
        node_id: int,
        request: Request[ResponseT],
        version: int,
        *,
        timeout_ms: int,
        lane: str = "",
    ) -> "Future[ResponseT]":
        """Send a request, in `version` or the newest that the node knows. The future may be
        cancelled; the node may have received the request anyway."""
        answer: Future[ResponseT] = self.loop.create_future()
        if self.is_closed:
            answer.set_exception(PeerUnavailable(f"node {node_id} is not asked any more"))
            return answer
        found = self._lanes.get((node_id, lane))
        if found is None:
            found = self._lanes[node_id, lane] = _Lane(self, node_id)
        newest = self._release.newest_version(request.API_KEY, version)
        call = Call(request, newest, answer)
        due = self.loop.time() + timeout_ms / 1000
        timer = self.loop.call_at(due, self._time_is_up, found, call, due)
        answer.add_done_callback(lambda _: timer.cancel())
        found.send(call)
        return answer

    def _time_is_up(self, lane: "_Lane", call: "Call[Any]", due: float) -> None:
        now = self.loop.time()
        if now < due + NOTICED_MS / 1000:
            lane.timed_out(call)
        else:  # the loop was stalled, and timers run before sockets: the answer may be there
            self.loop.call_at(now + _HEAR_FIRST_S, lane.timed_out, call)

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Where a node most likely is found; None if that is unknown."""
        return next(iter(self.addresses_of(node_id)), None)

    def is_connected(self, node_id: int) -> bool:
        return any(
            lane.connection is not None
            for (lane_node_id, _), lane in self._lanes.items()
            if lane_node_id == node_id
        )

    @property
    def proves(self) -> bool:
        return self._credentials is not None

    def prover(self, node_id: int) -> Prover | None:
        """What authenticates this node; None if it is in no cluster, or nodes do not
        authenticate."""
        credentials = None if self._credentials is None else self._credentials()
        if credentials is None:
            return None
        return Prover(credentials, node_id, self._randbytes(NONCE_BYTES))

    def proved(self, node_id: int) -> None:
        self._refusals.pop(node_id, None)

    def not_proved(self, node_id: int, reason: str) -> None:
        """Log a failed authentication, once per reason."""
        if self._refusals.get(node_id) == reason:
            return
        self._refusals[node_id] = reason
        if reason.endswith(NOT_JOINED):
            logger.info("waiting for node %d, which has not joined a cluster yet", node_id)
        else:
            logger.warning(
                "this node and node %d could not prove to each other that they belong to one "
                "cluster: %s. Check --voters and --data, and that all nodes have the same "
                "cluster.secret.file",
                node_id,
                reason,
            )

    def not_secure(self, node_id: int, reason: str) -> None:
        """Log a failed TLS handshake, once per reason."""
        if self._refusals.get(node_id) != reason:
            self._refusals[node_id] = reason
            logger.warning("no secure connection to node %d: %s", node_id, reason)

    def close(self) -> None:
        """Close every connection; pending calls fail."""
        self.is_closed = True
        for lane in self._lanes.values():
            lane.close()


class _Lane:
    """The connection to one node for one kind of traffic: connected, connecting, backing off, or
    idle."""

    __slots__ = (
        "_attempts",
        "_backoff_ms",
        "_connecting",
        "_next_attempt_ms",
        "_peers",
        "_retry",
        "_waiting",
        "client_id",
        "clock",
        "connection",
        "loop",
        "node_id",
    )

    def __init__(self, peers: Peers, node_id: int) -> None:
        self._peers = peers
        self.node_id = node_id
        self.connection: PeerConnection | None = None
        self._connecting: Future[None] | None = None
        self._retry: TimerHandle | None = None
        self.loop = peers.loop
        self.clock = peers.clock
        self.client_id = peers.client_id
        self._waiting: deque[Call[Any]] = deque()
        self._attempts = 0
        """To connect, since the node answered last."""
        self._backoff_ms = 0
        self._next_attempt_ms = 0

    @property
    def proves(self) -> bool:
        return self._peers.proves

    def prover(self) -> Prover | None:
        return self._peers.prover(self.node_id)

    def proved(self) -> None:
        self._peers.proved(self.node_id)

    def not_proved(self, reason: str) -> None:
        self._peers.not_proved(self.node_id, reason)

    def send(self, call: "Call[Any]") -> None:
        if self.connection is not None:
            self.connection.send(call)
            return
        self._waiting.append(call)
        if self._connecting is None and self._retry is None:
            wait_ms = self._next_attempt_ms - self.clock.steady_ms()
            if wait_ms > 0:
                self._retry = self.loop.call_later(wait_ms / 1000, self._begin)
            else:
                self._begin()

    def timed_out(self, call: "Call[Any]") -> None:
        if call.answer.done():
            return
        call.fail(PeerTimedOut(f"node {self.node_id} did not answer {call.name} in time"))
        if call in self._waiting:
            self._waiting.remove(call)
        elif self.connection is not None and self.connection.is_waiting_for(call):
            self.connection.time_out(f"it has not answered {call.name}, asked before this")

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
        if self.connection is not None:
            self.connection.abandon("the connection was closed")
        self._fail("the connection was closed")

    # -- connecting --------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._retry = None
        if not self._drop_finished():
            return
        attempt = self.loop.create_task(self._connect())
        self._connecting = attempt
        give_up = self.loop.call_later(self._timeout_ms / 1000, attempt.cancel)
        attempt.add_done_callback(lambda _: give_up.cancel())

    def _drop_finished(self) -> bool:
        """Drop calls that were cancelled or timed out; return whether any are left."""
        self._waiting = deque(call for call in self._waiting if not call.answer.done())
        return bool(self._waiting)

    @property
    def _timeout_ms(self) -> int:
        return _CONNECT_TIMEOUT_MS if self._peers.tls is None else _TLS_CONNECT_TIMEOUT_MS

    async def _connect(self) -> None:
        peers = self._peers
        addresses = peers.addresses_of(self.node_id)
        failure = "its address is unknown"
        outcome = PeerUnavailable
        if addresses:
            host, port = addresses[self._attempts % len(addresses)]
            self._attempts += 1
            try:
                _, made = await peers.loop.create_connection(
                    lambda: PeerConnection(self),
                    host,
                    port,
                    ssl=None if peers.tls is None else peers.tls.connecting,
                    server_hostname=None if peers.tls is None else host,
                )
                if not made.is_to_itself:
                    return
                failure = f"nothing listens on {host}:{port}"
            except ConnectionRefusedError as error:
                failure = str(error)
                if (host, port) == addresses[0]:
                    outcome = PeerIsDown
            except SSLError as error:
                failure = why_handshake_failed(error)
                peers.not_secure(self.node_id, f"{host}:{port}: {failure}")
            except (ConnectionResetError, ConnectionAbortedError) as error:
                failure = str(error)
                if peers.tls is not None:
                    failure = "it closed the connection during the TLS handshake"
                    peers.not_secure(
                        self.node_id, f"{host}:{port}: {failure}: does it use TLS there?"
                    )
            except OSError as error:
                failure = str(error)
            except CancelledError:
                failure = f"no connection to {host}:{port} in {self._timeout_ms} ms"
        self._connecting = None
        self._fail(failure, outcome)

    def _fail(self, reason: str, outcome: type[PeerUnavailable] = PeerUnavailable) -> None:
        self._backoff_ms = int(_BACKOFF_MS.after(self._backoff_ms))
        self._next_attempt_ms = self.clock.steady_ms() + self._backoff_ms
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            call.fail(outcome(f"node {self.node_id} can not be asked: {reason}"))

    # -- called by the connection ------------------------------------------------------------------

    def connected(self, connection: PeerConnection) -> None:
        self._connecting = None
        self.connection = connection
        if self._peers.is_closed:
            self.close()
            return
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            if not call.answer.done():
                connection.send(call)

    def answered(self) -> None:
        self._attempts = 0
        self._backoff_ms = 0

    def lost(self, reason: str, *, by_peer: bool) -> None:
        self.connection = None
        self._connecting = None
        self._fail(reason)
        if by_peer:
            self._peers.on_lost(self.node_id)

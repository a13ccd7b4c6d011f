"""Which requests are served before the node is ready: those of authenticated nodes, but not of
clients.

A node needs other nodes to rejoin the cluster, so it listens before it is ready. A client that
connects early waits at the gate; otherwise it would only get errors. Tools may ask for the node's
identity and its view of the cluster, to distinguish a node that waits from one that hangs.
"""

from asyncio import AbstractEventLoop, Future

from barnabas.broker.net.connection import Answer, Connection, Dispatch
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.wire.framing import decode_request_header
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import Reader, WireError

_ALWAYS_SERVED = frozenset(
    request.API_KEY
    for request in (
        ApiVersionsRequest,
        DescribeClusterRequest,
        DescribeQuorumRequest,
        SaslAuthenticateRequest,
        SaslHandshakeRequest,
    )
)


class StartupGate:
    """Holds requests back from `dispatch` until it is opened."""

    def __init__(
        self, loop: AbstractEventLoop, dispatch: Dispatch, connections: ConnectionLimits
    ) -> None:
        self._loop = loop
        self._dispatch = dispatch
        self._connections = connections
        self._waiting: dict[Future[Answer], tuple[bytes, Connection]] = {}
        """In order of arrival; connections that are closed are dropped."""
        self._is_open = False

    def new_connection(self) -> Connection:
        return Connection(self._dispatch if self._is_open else self._admit, self._connections)

    def open(self) -> None:
        """The node is ready."""
        self._is_open = True
        for connection in self._connections.connections:
            connection.use(self._dispatch)
        waiting, self._waiting = self._waiting, {}
        for answer, (frame, connection) in waiting.items():
            if not answer.cancelled():
                self._serve(frame, connection, answer)

    def _admit(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        header = decode_request_header(Reader(frame))
        if connection.peer is not None or header.api_key in _ALWAYS_SERVED:
            return self._dispatch(frame, connection)
        answer: Future[Answer] = self._loop.create_future()
        self._waiting[answer] = (bytes(frame), connection)
        answer.add_done_callback(lambda answer: self._waiting.pop(answer, None))
        return answer

    def _serve(self, frame: bytes, connection: Connection, answer: "Future[Answer]") -> None:
        try:
            served = self._dispatch(memoryview(bytearray(frame)), connection)
        except WireError as error:
            connection.refuse(str(error))
            return
        if not isinstance(served, Future):
            answer.set_result(served)
            return

        def finish(done: "Future[Answer]") -> None:
            if answer.cancelled():
                return
            if done.cancelled():
                answer.cancel()
            else:
                answer.set_result(done.result())

        def abandon(done: "Future[Answer]") -> None:
            if done.cancelled():
                served.cancel()

        served.add_done_callback(finish)
        answer.add_done_callback(abandon)

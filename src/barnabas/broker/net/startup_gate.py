"""Which requests are served before the node is ready: those of authenticated nodes, but not of
clients.

A node needs other nodes to rejoin the cluster, so it listens before it is ready. A client that
connects early waits at the gate; otherwise it would only get errors, and could not sign in, as
the node does not know all users yet. Tools may ask for the node's
identity and its view of the cluster, to distinguish a node that waits from one that hangs.
"""

from asyncio import Future

from barnabas.broker.net.connection import Answer, Connection, Dispatch, RequestHeld
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.listener import OPEN, Listener
from barnabas.broker.net.peer_proof import MECHANISM
from barnabas.broker.net.unproved_nodes import mechanism_of
from barnabas.wire.framing import decode_request_header
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import Reader

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
    """Holds requests back from `dispatch` until it is opened.

    They stay with their connections, so that what a connection has to keep, such as the order of
    its requests, is kept at the opening too.
    """

    def __init__(self, dispatch: Dispatch, connections: ConnectionLimits) -> None:
        self._dispatch = dispatch
        self._connections = connections
        self.is_open = False
        """Whether clients are served."""

    @property
    def dispatch(self) -> Dispatch:
        """Where requests go now."""
        return self._dispatch if self.is_open else self._admit

    def new_connection(self, listener: Listener = OPEN) -> Connection:
        return Connection(self._dispatch_first, self._connections, listener)

    def use(self, dispatch: Dispatch) -> None:
        """Send all further requests, of all connections, to `dispatch`."""
        self._dispatch = dispatch
        if self.is_open:
            for connection in self._connections.connections:
                connection.use(dispatch)

    def open(self) -> None:
        """The node is ready."""
        self.is_open = True
        self.use(self._dispatch)
        for connection in tuple(self._connections.connections):
            connection.resume()

    def _dispatch_first(
        self, frame: memoryview, connection: Connection
    ) -> "Answer | Future[Answer]":
        """The first requests of a connection: between its creation and them, the gate may have been
        opened, or `use` called, before the connection was in the list of all."""
        connection.use(self.dispatch)
        return self.dispatch(frame, connection)

    def _admit(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        api_key = decode_request_header(Reader(frame)).api_key
        if connection.peer is not None or (
            api_key in _ALWAYS_SERVED and not _is_client_signing_in(api_key, frame, connection)
        ):
            return self._dispatch(frame, connection)
        raise RequestHeld


def _is_client_signing_in(api_key: int, frame: memoryview, connection: Connection) -> bool:
    """Whether the request begins a sign-in of a client, rather than the proof of a node."""
    if api_key != SaslHandshakeRequest.API_KEY or connection.sign_in is None:
        return False
    return mechanism_of(frame) not in (MECHANISM, None)

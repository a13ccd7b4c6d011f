"""Which requests are served before a client has signed in, and after its session has ended: those
that it signs in with.

Any other request closes the connection, as in Kafka. Nodes prove themselves on every listener
(`peer_proof.py`); on the one by which they reach each other, a node that is in no cluster yet may
ask for the cluster and its voters.
"""

from asyncio import Future

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.sign_in.sign_ins import SignIns
from barnabas.broker.net.sign_in.state import SignIn
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.wire.framing import decode_request_header
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import Reader

_BEFORE_SIGN_IN = frozenset(
    request.API_KEY
    for request in (ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
)
_FROM_NEW_NODES = frozenset(
    request.API_KEY for request in (DescribeClusterRequest, DescribeQuorumRequest)
)


class SignInGate:
    """In front of the startup gate, for connections of listeners with SASL."""

    def __init__(self, served: StartupGate, sign_ins: SignIns, inter_broker: str) -> None:
        self._served = served
        self._sign_ins = sign_ins
        self._inter_broker = inter_broker
        """The name of the listener by which nodes reach each other."""

    def new_connection(self, listener: Listener) -> Connection:
        connection = self._served.new_connection(listener)
        if listener.protocol.has_sasl:
            connection.require_sign_in(self._sign_ins.new(listener), self._admit)
        return connection

    def _admit(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        sign_in = connection.sign_in
        assert sign_in is not None
        answer: Answer | Future[Answer]
        if sign_in.is_raw:
            answer = self._raw(frame, connection, sign_in)
        else:
            if not connection.is_admitted and not self._may_send(frame, connection):
                return None
            answer = self._served.dispatch(frame, connection)
        if connection.is_admitted:
            connection.admit(self._served.dispatch)
        return answer

    def _may_send(self, frame: memoryview, connection: Connection) -> bool:
        """Whether the request may come before the sign-in; if not, the connection is closed."""
        api_key = decode_request_header(Reader(frame)).api_key
        is_of_new_node = (
            api_key in _FROM_NEW_NODES and connection.listener.name == self._inter_broker
        )
        if api_key in _BEFORE_SIGN_IN or is_of_new_node:
            return True
        self._sign_ins.refuse_unsigned(connection, api_key)
        return False

    def _raw(self, frame: memoryview, connection: Connection, sign_in: SignIn) -> Answer:
        answer = self._sign_ins.raw_step(connection, sign_in, bytes(frame))
        return None if answer is None else [len(answer).to_bytes(4), answer]

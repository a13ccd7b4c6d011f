"""Which requests no quota counts."""

from collections.abc import Iterator

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.peer_proof import PeerIdentity
from barnabas.broker.net.sign_in.state import SignIn
from barnabas.broker.net.throttling import is_exempt
from barnabas.security.principal import USER, Principal
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.talk import Talk

SIGN_IN = {SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY}
DESCRIBE = {DescribeClusterRequest.API_KEY, DescribeQuorumRequest.API_KEY}
ALL = {*SIGN_IN, *DESCRIBE, ApiVersionsRequest.API_KEY, MetadataRequest.API_KEY}
ALICE = Principal(USER, "alice")


@pytest.fixture
def connection() -> Iterator[Connection]:
    talk = Talk()
    yield talk.connection
    talk.loop.close()


def exempt(connection: Connection) -> set[int]:
    return {api_key for api_key in ALL if is_exempt(connection, api_key)}


def test_on_an_open_listener_what_nodes_send_first(connection: Connection) -> None:
    assert exempt(connection) == SIGN_IN | DESCRIBE


def test_before_the_sign_in_everything(connection: Connection) -> None:
    connection.sign_in = SignIn(1000)
    assert exempt(connection) == ALL


@pytest.mark.parametrize("by", ["SASL", "certificate"])
def test_of_a_known_client_only_the_sign_in(connection: Connection, by: str) -> None:
    if by == "SASL":
        connection.sign_in = SignIn(1000)
        connection.sign_in.is_complete = True
    connection.principal = ALICE
    assert exempt(connection) == SIGN_IN


def test_of_a_node_everything(connection: Connection) -> None:
    connection.principal = ALICE
    connection.peer = PeerIdentity(2, bytes(16))
    assert exempt(connection) == ALL

"""What a node sends before it has proved that it is one."""

from barnabas.broker.net.peer_proof import MECHANISM
from barnabas.wire.framing import decode_request, decode_request_header
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.primitives import Reader

_HANDSHAKE = SaslHandshakeRequest.API_KEY
FROM_UNPROVED_NODES = frozenset(
    request.API_KEY
    for request in (
        SaslHandshakeRequest,
        SaslAuthenticateRequest,
        DescribeClusterRequest,
        DescribeQuorumRequest,
    )
)


def may_be_of_node(frame: memoryview) -> bool:
    """Whether a node sends such a request before it has proved itself. Raises `WireError`."""
    api_key = int.from_bytes(frame[:2])
    if api_key != _HANDSHAKE:
        return api_key in FROM_UNPROVED_NODES
    return mechanism_of(frame) in (MECHANISM, None)


def mechanism_of(frame: memoryview) -> str | None:
    """The mechanism that a SaslHandshake chooses; None if its version is not served, so that it is
    refused anyway. Raises `WireError`."""
    r = Reader(frame)
    version = decode_request_header(r).api_version
    if not SaslHandshakeRequest.MIN_VERSION <= version <= SaslHandshakeRequest.MAX_VERSION:
        return None
    request: SaslHandshakeRequest = decode_request(r, SaslHandshakeRequest, version)
    return request.mechanism

"""The versions in which two nodes talk: of each API the newest that both know.

Nodes of two releases work together while a cluster is upgraded. A node asks each node that it
connects to for its versions, once per connection, as soon as that has authenticated it: only then
it is told of the APIs between nodes. What comes before that is sent in versions that every
release serves.
"""

import re
from typing import Any, Final

from barnabas import __version__
from barnabas.wire.message import Request
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

FIXED_VERSIONS: Final[dict[type[Request[Any]], int]] = {
    ApiVersionsRequest: 4,
    SaslHandshakeRequest: 1,
    SaslAuthenticateRequest: 2,
    DescribeClusterRequest: 2,
    DescribeQuorumRequest: 2,
}
"""Versions before the negotiation: they stay when newer ones are added."""


_NOT_ACCEPTED = re.compile(r"[^a-zA-Z0-9.-]")


class IncompatibleRelease(Exception):  # noqa: N818 - an expected outcome
    """The other node runs a release that does not serve what it is asked for."""


def versions_question() -> ApiVersionsRequest:
    """What a node asks first."""
    # A version may have other characters, as 1.0+local has, which no broker accepts.
    return ApiVersionsRequest("barnabas-node", _NOT_ACCEPTED.sub("-", __version__).strip("-."))


class PeerVersions:
    """The versions that one node serves."""

    __slots__ = ("_ranges",)

    def __init__(self, response: ApiVersionsResponse) -> None:
        self._ranges = {
            api.api_key: (api.min_version, api.max_version) for api in response.api_keys
        }

    def choose(self, request: Request[Any], newest: int) -> int:
        """The newest version up to `newest` that both nodes know. Raises
        `IncompatibleRelease`."""
        found = self._ranges.get(request.API_KEY)
        if found is None:
            raise IncompatibleRelease(f"its release does not serve {_name(request)}: upgrade it")
        oldest_there, newest_there = found
        version = min(newest, newest_there)
        if version < max(oldest_there, request.MIN_VERSION):
            raise IncompatibleRelease(
                f"its release serves {_name(request)} {oldest_there}-{newest_there}, this one "
                f"{request.MIN_VERSION}-{newest}: upgrade the older node"
            )
        return version


def _name(request: Request[Any]) -> str:
    return type(request).__name__.removesuffix("Request")

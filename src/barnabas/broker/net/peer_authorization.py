"""Which requests clients may send, and which only nodes of the cluster.

A request that speaks for a node must come from that node. A connection belongs to a node because
that node has authenticated on it (`peer_proof.py`), not because of what its requests say. All
others get CLUSTER_AUTHORIZATION_FAILED, as from a Kafka broker that requires CLUSTER_ACTION. Which
requests these are: `handlers/node_only_requests.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas.broker.net.peer_proof import PeerIdentity
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ANY_CLIENT = -1
"""Clients may send this request."""
ANY_PEER = -2
"""Any node may send it, but no client."""

REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _refuse(request: Any) -> Response:
    response: Response = request.RESPONSE(error_code=REFUSED)
    return response


@dataclass(frozen=True, slots=True)
class PeerAuthorization:
    sender: Callable[[Any, int], int]
    """Given a request and its version, the node that it speaks for; `ANY_CLIENT` or `ANY_PEER` if
    none."""
    refuse: Callable[[Any], Response] = _refuse
    concerns_clients: bool = False
    """Whether clients may send some requests of the API, so that ApiVersions lists it for them."""

    @staticmethod
    def may_send(peer: PeerIdentity | None, sender_id: int) -> bool:
        return peer is not None and sender_id in (peer.node_id, ANY_PEER)

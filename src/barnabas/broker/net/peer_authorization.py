"""Whether a request may come from a client, or only from a node of the cluster.

A request that speaks for a node must come from that very node: a connection is a node's because
that node has proved it (`peer_proof.py`), not because of what its requests say. Everybody else gets
CLUSTER_AUTHORIZATION_FAILED, as in a Kafka that asks for CLUSTER_ACTION. Which requests these are:
`handlers/node_only_requests.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas.broker.net.peer_proof import PeerIdentity
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ANYBODY = -1
"""Clients may send this request."""
ANY_PEER = -2
"""Only nodes may send it, whichever."""

REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _refuse(request: Any) -> Response:
    response: Response = request.RESPONSE(error_code=REFUSED)
    return response


@dataclass(frozen=True, slots=True)
class PeerAuthorization:
    sender: Callable[[Any, int], int]
    """Which node a request, of a version, speaks for; `ANYBODY` or `ANY_PEER` if for none."""
    refuse: Callable[[Any], Response] = _refuse
    concerns_clients: bool = False
    """Whether clients may send some requests of the API, so that they are told of it."""

    @staticmethod
    def may_send(peer: PeerIdentity | None, sender_id: int) -> bool:
        return peer is not None and sender_id in (peer.node_id, ANY_PEER)

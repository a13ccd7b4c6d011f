"""Where the leader is. Messages that name it have its address, as their receiver may not know it.

A node that was down while voters were added finds the new ones neither in its settings nor in its
log, and can follow one of them only if it gets the address together with the node id.
"""

from typing import Any

from barnabas.wire.endpoint import Endpoint
from barnabas.wire.message import Request, Response
from barnabas.wire.messages import (
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    vote,
)


def add_node_endpoint(response: Response, node_id: int, host: str, port: int) -> None:
    """To the response to a request of a replica."""
    match response:
        case vote.VoteResponse():
            response.node_endpoints = [vote.NodeEndpoint(node_id, host, port)]
        case begin_quorum_epoch.BeginQuorumEpochResponse():
            response.node_endpoints = [begin_quorum_epoch.NodeEndpoint(node_id, host, port)]
        case end_quorum_epoch.EndQuorumEpochResponse():
            response.node_endpoints = [end_quorum_epoch.NodeEndpoint(node_id, host, port)]
        case fetch.FetchResponse():
            response.node_endpoints = [fetch.NodeEndpoint(node_id, host, port)]
        case fetch_snapshot.FetchSnapshotResponse():
            response.node_endpoints = [fetch_snapshot.NodeEndpoint(node_id, host, port)]


def node_endpoints(response: Response) -> list[tuple[int, str, int]]:
    """Node id, host and port of each node that the response names."""
    match response:
        case (
            vote.VoteResponse()
            | begin_quorum_epoch.BeginQuorumEpochResponse()
            | end_quorum_epoch.EndQuorumEpochResponse()
            | fetch.FetchResponse()
            | fetch_snapshot.FetchSnapshotResponse()
        ):
            return [(at.node_id, at.host, at.port) for at in response.node_endpoints]
        case _:
            return []


def add_leader_endpoints(
    request: begin_quorum_epoch.BeginQuorumEpochRequest, own: Endpoint | None
) -> None:
    """To the request in which a leader says that it leads; without an endpoint if none is known."""
    if own is not None:
        endpoint = begin_quorum_epoch.LeaderEndpoint(own.name, own.host, own.port)
        request.leader_endpoints = [endpoint]


def leader_endpoints(request: Request[Any]) -> tuple[Endpoint, ...]:
    """Those of the leader that has sent the request."""
    if not isinstance(request, begin_quorum_epoch.BeginQuorumEpochRequest):
        return ()
    return tuple(Endpoint(at.name, at.host, at.port) for at in request.leader_endpoints)

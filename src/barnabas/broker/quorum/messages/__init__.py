"""Raft's messages as Kafka's, both ways: one file per API, and here the way in.

A Kafka message has many topics and partitions; here it is always one. Anything else is not a
message of a replica, and gives `None`. So does a response with an error for the whole request,
which says nothing about Raft.
"""

from typing import Any

from barnabas.broker.quorum.messages import (
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    vote,
)
from barnabas.raft import messages as raft
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
)
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse

RaftRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
)


def encode_request(message: raft.Request, cluster_id: str) -> Request[Any]:
    match message:
        case raft.VoteRequest():
            return vote.encode_request(message, cluster_id)
        case raft.BeginQuorumEpochRequest():
            return begin_quorum_epoch.encode_request(message, cluster_id)
        case raft.EndQuorumEpochRequest():
            return end_quorum_epoch.encode_request(message, cluster_id)
        case raft.FetchRequest():
            return fetch.encode_request(message, cluster_id)
        case raft.FetchSnapshotRequest():
            return fetch_snapshot.encode_request(message, cluster_id)


def decode_request(request: RaftRequest) -> tuple[int, raft.Request] | None:
    """The sender, and its request."""
    match request:
        case VoteRequest():
            return vote.decode_request(request)
        case BeginQuorumEpochRequest():
            return begin_quorum_epoch.decode_request(request)
        case EndQuorumEpochRequest():
            return end_quorum_epoch.decode_request(request)
        case FetchRequest():
            return fetch.decode_request(request)
        case FetchSnapshotRequest():
            return fetch_snapshot.decode_request(request)


def refuse(request: RaftRequest, error: ErrorCode) -> Response:
    """An error for the whole request."""
    response: type[Any] = request.RESPONSE
    refusal: Response = response(error_code=error)
    return refusal


def is_of_another_cluster(response: Response) -> bool:
    return getattr(response, "error_code", 0) == ErrorCode.INCONSISTENT_CLUSTER_ID


def encode_response(message: raft.Response) -> Response:
    match message:
        case raft.VoteResponse():
            return vote.encode_response(message)
        case raft.BeginQuorumEpochResponse():
            return begin_quorum_epoch.encode_response(message)
        case raft.EndQuorumEpochResponse():
            return end_quorum_epoch.encode_response(message)
        case raft.FetchResponse():
            return fetch.encode_response(message)
        case raft.FetchSnapshotResponse():
            return fetch_snapshot.encode_response(message)


def decode_response(response: Response) -> raft.Response | None:
    """Raises `RecordsError` for entries that can't be read."""
    match response:
        case VoteResponse():
            return vote.decode_response(response)
        case BeginQuorumEpochResponse():
            return begin_quorum_epoch.decode_response(response)
        case EndQuorumEpochResponse():
            return end_quorum_epoch.decode_response(response)
        case FetchResponse():
            return fetch.decode_response(response)
        case FetchSnapshotResponse():
            return fetch_snapshot.decode_response(response)
        case _:
            return None

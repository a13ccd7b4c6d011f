"""Which requests only nodes of the cluster may send, and what everybody else is told.

A request that speaks for a node must come from that very node: a connection is a node's because
that node has proved it (`peer_proof.py`), not because of what its requests say. Everybody else gets
CLUSTER_AUTHORIZATION_FAILED, as in a Kafka that asks for CLUSTER_ACTION.

ListOffsets and OffsetForLeaderEpoch have a replica id too; they are not here because they tell a
replica nothing that they do not tell everybody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barnabas.broker.peer_proof import PeerIdentity
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.vote import VoteRequest
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ANYBODY = -1
"""Clients may send this request."""
ANY_PEER = -2
"""Only nodes may send it, whichever."""
_NOBODY = -3

_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_BATCHED_BY_NODES = 4


def _refuse(request: Any) -> Response:
    response: Response = request.RESPONSE(error_code=_REFUSED)
    return response


@dataclass(frozen=True, slots=True)
class PeersOnly:
    sender: Callable[[Any, int], int]
    """Which node a request, of a version, speaks for; `ANYBODY` or `ANY_PEER` if for none."""
    refuse: Callable[[Any], Response] = _refuse

    @staticmethod
    def may_send(peer: PeerIdentity | None, sender_id: int) -> bool:
        return peer is not None and sender_id in (peer.node_id, ANY_PEER)


def _node(node_id: int) -> int:
    """No node has a negative number, so none can have sent what claims one."""
    return node_id if node_id >= 0 else _NOBODY


def _candidate(request: VoteRequest, _: int) -> int:
    partition = only_partition(request.topics)
    return ANY_PEER if partition is None else _node(partition.candidate_id)


def _new_leader(request: BeginQuorumEpochRequest, _: int) -> int:
    partition = only_partition(request.topics)
    return ANY_PEER if partition is None else _node(partition.leader_id)


def _former_leader(request: EndQuorumEpochRequest, _: int) -> int:
    partition = only_partition(request.topics)
    return ANY_PEER if partition is None else _node(partition.leader_id)


def _replica(request: FetchRequest, _: int) -> int:
    """Consumers have a negative id."""
    state = request.replica_state
    replica_id = request.replica_id
    if state is not None and state.replica_id > replica_id:
        replica_id = state.replica_id
    return replica_id if replica_id >= 0 else ANYBODY


def _refuse_fetch(request: FetchRequest) -> FetchResponse:
    """In each partition too: before version 7 there is no error for the whole answer."""
    return FetchResponse(
        error_code=_REFUSED,
        responses=[
            FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [PartitionData(asked.partition, _REFUSED, -1) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _markers(request: WriteTxnMarkersRequest, _: int) -> int:
    """Operators roll back what hangs; only coordinators commit."""
    return ANY_PEER if any(each.transaction_result for each in request.markers) else ANYBODY


def refuse_markers(
    request: WriteTxnMarkersRequest, error: ErrorCode = _REFUSED
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(index, error)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _transactions(_: AddPartitionsToTxnRequest, version: int) -> int:
    return ANY_PEER if version >= _BATCHED_BY_NODES else ANYBODY


BROKER = PeersOnly(lambda request, _: _node(request.broker_id))
REPLICA = PeersOnly(lambda request, _: _node(request.replica_id))
CANDIDATE = PeersOnly(_candidate)
NEW_LEADER = PeersOnly(_new_leader)
FORMER_LEADER = PeersOnly(_former_leader)
FETCH = PeersOnly(_replica, _refuse_fetch)
MARKERS = PeersOnly(_markers, refuse_markers)
TRANSACTIONS = PeersOnly(_transactions)

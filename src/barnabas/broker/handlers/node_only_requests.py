"""Requests that only nodes of the cluster may send, and the answers to other senders.

ListOffsets and OffsetForLeaderEpoch have a replica id too; they are not here because a replica
gets the same answer as a client.
"""

from typing import Any

from barnabas.broker.net.peer_authorization import ANY_CLIENT, ANY_PEER, REFUSED, PeerAuthorization
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages import delete_share_group_state as delete_messages
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import read_share_group_state as read_messages
from barnabas.wire.messages import read_share_group_state_summary as summary_messages
from barnabas.wire.messages import write_share_group_state as write_messages
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

_NOT_A_NODE = -3

_BATCHED_BY_NODES = 4


def _node(node_id: int) -> int:
    """No node has a negative number, so none can have sent what claims one."""
    return node_id if node_id >= 0 else _NOT_A_NODE


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
    return replica_id if replica_id >= 0 else ANY_CLIENT


def _refuse_fetch(request: FetchRequest) -> FetchResponse:
    """In each partition too: before version 7 there is no error for the whole answer."""
    return FetchResponse(
        error_code=REFUSED,
        responses=[
            FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [PartitionData(asked.partition, REFUSED, -1) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _markers(request: WriteTxnMarkersRequest, _: int) -> int:
    """Operators roll back what hangs; only coordinators commit."""
    return ANY_PEER if any(each.transaction_result for each in request.markers) else ANY_CLIENT


def refuse_markers(
    request: WriteTxnMarkersRequest, error: ErrorCode = REFUSED
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
    return ANY_PEER if version >= _BATCHED_BY_NODES else ANY_CLIENT


_STATE_RESULTS: dict[type[Any], tuple[Any, Any]] = {
    module_request: (topic, partition)
    for module_request, topic, partition in (
        (
            initialize_messages.InitializeShareGroupStateRequest,
            initialize_messages.InitializeStateResult,
            initialize_messages.PartitionResult,
        ),
        (
            read_messages.ReadShareGroupStateRequest,
            read_messages.ReadStateResult,
            read_messages.PartitionResult,
        ),
        (
            write_messages.WriteShareGroupStateRequest,
            write_messages.WriteStateResult,
            write_messages.PartitionResult,
        ),
        (
            delete_messages.DeleteShareGroupStateRequest,
            delete_messages.DeleteStateResult,
            delete_messages.PartitionResult,
        ),
        (
            summary_messages.ReadShareGroupStateSummaryRequest,
            summary_messages.ReadStateSummaryResult,
            summary_messages.PartitionResult,
        ),
    )
}


def refuse_share_state(request: Any) -> Response:
    result, partition = _STATE_RESULTS[type(request)]
    response: Response = request.RESPONSE(
        [
            result(
                topic.topic_id, [partition(each.partition, REFUSED) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )
    return response


BROKER = PeerAuthorization(lambda request, _: _node(request.broker_id))
REPLICA = PeerAuthorization(lambda request, _: _node(request.replica_id))
CANDIDATE = PeerAuthorization(_candidate)
NEW_LEADER = PeerAuthorization(_new_leader)
FORMER_LEADER = PeerAuthorization(_former_leader)
FETCH = PeerAuthorization(_replica, _refuse_fetch, concerns_clients=True)
ENVELOPE = PeerAuthorization(lambda _, __: ANY_PEER)
MARKERS = PeerAuthorization(_markers, refuse_markers, concerns_clients=True)
SHARE_STATE = PeerAuthorization(lambda _, __: ANY_PEER, refuse_share_state)
TRANSACTIONS = PeerAuthorization(_transactions, concerns_clients=True)

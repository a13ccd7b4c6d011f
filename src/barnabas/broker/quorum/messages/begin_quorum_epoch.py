"""BeginQuorumEpoch, version 1: with directory ids."""

from barnabas.broker.quorum.messages.fields import (
    decode_error,
    decode_leader,
    encode_leader,
    only_partition,
)
from barnabas.broker.quorum.metadata_topic import METADATA_PARTITION
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.raft import ReplicaKey
from barnabas.raft import messages as raft
from barnabas.wire.messages import begin_quorum_epoch as wire


def encode_request(
    message: raft.BeginQuorumEpochRequest, cluster_id: str
) -> wire.BeginQuorumEpochRequest:
    partition = wire.PartitionData(
        METADATA_PARTITION, message.voter.directory_id, message.leader_id, message.epoch
    )
    topic = wire.TopicData(CLUSTER_METADATA, [partition])
    return wire.BeginQuorumEpochRequest(cluster_id, message.voter.node_id, [topic])


def decode_request(
    request: wire.BeginQuorumEpochRequest,
) -> tuple[int, raft.BeginQuorumEpochRequest] | None:
    partition = only_partition(request.topics)
    if partition is None:
        return None
    return partition.leader_id, raft.BeginQuorumEpochRequest(
        partition.leader_epoch,
        partition.leader_id,
        ReplicaKey(request.voter_id, bytes(partition.voter_directory_id)),
    )


def encode_response(message: raft.BeginQuorumEpochResponse) -> wire.BeginQuorumEpochResponse:
    partition = wire.PartitionResult(
        METADATA_PARTITION, message.error_code, encode_leader(message.leader_id), message.epoch
    )
    return wire.BeginQuorumEpochResponse(topics=[wire.TopicResult(CLUSTER_METADATA, [partition])])


def decode_response(
    response: wire.BeginQuorumEpochResponse,
) -> raft.BeginQuorumEpochResponse | None:
    partition = only_partition(response.topics)
    if response.error_code or partition is None:
        return None
    return raft.BeginQuorumEpochResponse(
        decode_error(partition.error_code),
        partition.leader_epoch,
        decode_leader(partition.leader_id),
    )

"""EndQuorumEpoch, version 1: with directory ids."""

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
from barnabas.wire.messages import end_quorum_epoch as wire


def encode_request(
    message: raft.EndQuorumEpochRequest, cluster_id: str
) -> wire.EndQuorumEpochRequest:
    candidates = [wire.ReplicaInfo(*key) for key in message.preferred_candidates]
    partition = wire.PartitionData(
        METADATA_PARTITION, message.leader_id, message.epoch, preferred_candidates=candidates
    )
    return wire.EndQuorumEpochRequest(cluster_id, [wire.TopicData(CLUSTER_METADATA, [partition])])


def decode_request(
    request: wire.EndQuorumEpochRequest,
) -> tuple[int, raft.EndQuorumEpochRequest] | None:
    partition = only_partition(request.topics)
    if partition is None:
        return None
    candidates = tuple(
        ReplicaKey(candidate.candidate_id, bytes(candidate.candidate_directory_id))
        for candidate in partition.preferred_candidates
    )
    return partition.leader_id, raft.EndQuorumEpochRequest(
        partition.leader_epoch, partition.leader_id, candidates
    )


def encode_response(message: raft.EndQuorumEpochResponse) -> wire.EndQuorumEpochResponse:
    partition = wire.PartitionResult(
        METADATA_PARTITION, message.error_code, encode_leader(message.leader_id), message.epoch
    )
    return wire.EndQuorumEpochResponse(topics=[wire.TopicResult(CLUSTER_METADATA, [partition])])


def decode_response(response: wire.EndQuorumEpochResponse) -> raft.EndQuorumEpochResponse | None:
    partition = only_partition(response.topics)
    if response.error_code or partition is None:
        return None
    return raft.EndQuorumEpochResponse(
        decode_error(partition.error_code),
        partition.leader_epoch,
        decode_leader(partition.leader_id),
    )

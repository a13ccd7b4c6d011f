"""Vote, version 2: with directory ids, and with the pre-vote."""

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
from barnabas.wire.messages import vote as wire


def encode_request(message: raft.VoteRequest, cluster_id: str) -> wire.VoteRequest:
    partition = wire.PartitionData(
        METADATA_PARTITION,
        message.epoch,
        message.candidate.node_id,
        message.candidate.directory_id,
        message.voter.directory_id,
        message.last_epoch,
        message.last_offset,
        message.pre_vote,
    )
    topic = wire.TopicData(CLUSTER_METADATA, [partition])
    return wire.VoteRequest(cluster_id, message.voter.node_id, [topic])


def decode_request(request: wire.VoteRequest) -> tuple[int, raft.VoteRequest] | None:
    partition = only_partition(request.topics)
    if partition is None:
        return None
    return partition.candidate_id, raft.VoteRequest(
        epoch=partition.candidate_epoch,
        candidate=ReplicaKey(partition.candidate_id, bytes(partition.candidate_directory_id)),
        voter=ReplicaKey(request.voter_id, bytes(partition.voter_directory_id)),
        last_epoch=partition.last_offset_epoch,
        last_offset=partition.last_offset,
        pre_vote=partition.pre_vote,
    )


def encode_response(message: raft.VoteResponse) -> wire.VoteResponse:
    partition = wire.PartitionResult(
        METADATA_PARTITION,
        message.error_code,
        encode_leader(message.leader_id),
        message.epoch,
        message.vote_granted,
    )
    return wire.VoteResponse(topics=[wire.TopicResult(CLUSTER_METADATA, [partition])])


def decode_response(response: wire.VoteResponse) -> raft.VoteResponse | None:
    partition = only_partition(response.topics)
    if response.error_code or partition is None:
        return None
    return raft.VoteResponse(
        decode_error(partition.error_code),
        partition.leader_epoch,
        decode_leader(partition.leader_id),
        partition.vote_granted,
    )

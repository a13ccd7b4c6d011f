"""FetchSnapshot, version 1: with the replica's directory id."""

from barnabas.broker.quorum.messages.fields import (
    decode_error,
    decode_leader,
    encode_leader,
    only_partition,
)
from barnabas.broker.quorum.metadata_topic import METADATA_PARTITION
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.raft import OffsetAndEpoch, ReplicaKey
from barnabas.raft import messages as raft
from barnabas.wire.messages import fetch_snapshot as wire


def encode_request(
    message: raft.FetchSnapshotRequest, cluster_id: str
) -> wire.FetchSnapshotRequest:
    partition = wire.PartitionSnapshot(
        METADATA_PARTITION,
        message.epoch,
        wire.SnapshotId(*message.snapshot_id),
        message.position,
        message.replica.directory_id,
    )
    return wire.FetchSnapshotRequest(
        cluster_id,
        message.replica.node_id,
        message.max_bytes,
        [wire.TopicSnapshot(CLUSTER_METADATA, [partition])],
    )


def decode_request(
    request: wire.FetchSnapshotRequest,
) -> tuple[int, raft.FetchSnapshotRequest] | None:
    partition = only_partition(request.topics)
    if partition is None or request.replica_id < 0:
        return None
    return request.replica_id, raft.FetchSnapshotRequest(
        epoch=partition.current_leader_epoch,
        replica=ReplicaKey(request.replica_id, bytes(partition.replica_directory_id)),
        snapshot_id=OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
        position=partition.position,
        max_bytes=request.max_bytes,
    )


def encode_response(message: raft.FetchSnapshotResponse) -> wire.FetchSnapshotResponse:
    partition = wire.PartitionSnapshotResult(
        METADATA_PARTITION,
        message.error_code,
        wire.SnapshotId(*message.snapshot_id),
        wire.LeaderIdAndEpoch(encode_leader(message.leader_id), message.epoch),
        message.size,
        message.position,
        message.content,
    )
    return wire.FetchSnapshotResponse(
        topics=[wire.TopicSnapshotResult(CLUSTER_METADATA, [partition])]
    )


def decode_response(response: wire.FetchSnapshotResponse) -> raft.FetchSnapshotResponse | None:
    partition = only_partition(response.topics)
    if response.error_code or partition is None or partition.current_leader is None:
        return None
    return raft.FetchSnapshotResponse(
        decode_error(partition.error_code),
        partition.current_leader.leader_epoch,
        decode_leader(partition.current_leader.leader_id),
        OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
        partition.size,
        partition.position,
        bytes(partition.unaligned_records),
    )

"""Fetch of the metadata log, version 18: a replica acknowledges, and asks for more.

`ReplicaState` has its node id, `ReplicaDirectoryId` its directory. `HighWatermark` is what it
knows, so that it is answered when there is a later one. An answer always has `CurrentLeader`; it
has `DivergingEpoch` or `SnapshotId` where the log of who asks is not the leader's.
"""

from barnabas.broker.quorum.batches import decode_entries, encode_entries
from barnabas.broker.quorum.messages.fields import (
    decode_error,
    decode_leader,
    encode_leader,
    only_partition,
)
from barnabas.broker.quorum.metadata_topic import METADATA_PARTITION, METADATA_TOPIC_ID
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.raft import OffsetAndEpoch, ReplicaKey
from barnabas.raft import messages as raft
from barnabas.wire.messages import fetch as wire


def encode_request(message: raft.FetchRequest, cluster_id: str) -> wire.FetchRequest:
    partition = wire.FetchPartition(
        METADATA_PARTITION,
        message.epoch,
        message.fetch_offset,
        message.last_fetched_epoch,
        partition_max_bytes=message.max_bytes,
        replica_directory_id=message.replica.directory_id,
        high_watermark=message.high_watermark,
    )
    return wire.FetchRequest(
        cluster_id=cluster_id,
        replica_state=wire.ReplicaState(message.replica.node_id),
        max_wait_ms=message.max_wait_ms,
        max_bytes=message.max_bytes,
        topics=[wire.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def decode_request(request: wire.FetchRequest) -> tuple[int, raft.FetchRequest] | None:
    partition = only_partition(request.topics)
    state = request.replica_state
    node_id = request.replica_id if state is None else state.replica_id
    if partition is None or node_id < 0:
        return None
    return node_id, raft.FetchRequest(
        epoch=partition.current_leader_epoch,
        replica=ReplicaKey(node_id, bytes(partition.replica_directory_id)),
        fetch_offset=partition.fetch_offset,
        last_fetched_epoch=partition.last_fetched_epoch,
        high_watermark=partition.high_watermark,
        max_bytes=partition.partition_max_bytes,
        max_wait_ms=request.max_wait_ms,
    )


def encode_response(message: raft.FetchResponse) -> wire.FetchResponse:
    diverging, snapshot = message.diverging_epoch, message.snapshot_id
    partition = wire.PartitionData(
        METADATA_PARTITION,
        message.error_code,
        message.high_watermark,
        message.high_watermark,
        diverging_epoch=(
            None
            if diverging is None
            else wire.EpochEndOffset(diverging.epoch, diverging.end_offset)
        ),
        current_leader=wire.LeaderIdAndEpoch(encode_leader(message.leader_id), message.epoch),
        snapshot_id=None if snapshot is None else wire.SnapshotId(*snapshot),
        records=encode_entries(message.entries),
    )
    topic = wire.FetchableTopicResponse(CLUSTER_METADATA, METADATA_TOPIC_ID, [partition])
    return wire.FetchResponse(responses=[topic])


def decode_response(response: wire.FetchResponse) -> raft.FetchResponse | None:
    partition = only_partition(response.responses)
    if response.error_code or partition is None or partition.current_leader is None:
        return None
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return raft.FetchResponse(
        decode_error(partition.error_code),
        partition.current_leader.leader_epoch,
        decode_leader(partition.current_leader.leader_id),
        partition.high_watermark,
        None if diverging is None else OffsetAndEpoch(diverging.end_offset, diverging.epoch),
        None if snapshot is None else OffsetAndEpoch(snapshot.end_offset, snapshot.epoch),
        tuple(decode_entries(partition.records or b"")),
    )

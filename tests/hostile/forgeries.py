"""What only nodes may send, as an attacker would send it: with values that could be true, and with
values that can't.

Every API with requests for nodes only has its forgeries here; `test_forged.py` holds the table
against the route table.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from barnabas.broker.control.envelope import seal
from barnabas.security.principal import Principal
from barnabas.wire.message import Request
from barnabas.wire.messages import (
    add_partitions_to_txn,
    alter_partition,
    assign_replicas_to_dirs,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    vote,
    write_txn_markers,
)
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Listener
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.hostile.forged_share_states import FORGED_STATES

METADATA = "__cluster_metadata"
METADATA_ID = bytes(15) + b"\1"
LARGEST, SMALLEST = 2**31 - 1, -(2**31)
LARGEST_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class World:
    """What anybody can find out about a cluster, by asking."""

    cluster_id: str
    epoch: int
    """Of the quorum."""
    leader_id: int
    voters: dict[int, bytes]
    """Node ids and directory ids."""
    topic: str
    topic_id: bytes
    partition_leader: int
    partition_epoch: int
    """The leader's epoch."""
    end_offset: int
    producer_id: int
    producer_epoch: int
    transactional_id: str

    @property
    def epochs(self) -> list[int]:
        return [self.epoch, self.epoch + 1, self.epoch + 50, LARGEST, LARGEST - 1, SMALLEST, -1]

    @property
    def nodes(self) -> list[tuple[int, bytes]]:
        """Those that there are, and some that there are not."""
        return [*self.voters.items(), (9, b"d" * 16), (-1, bytes(16)), (LARGEST, b"\xff" * 16)]


def votes(world: World) -> Iterator[Request[Any]]:
    for epoch in world.epochs:
        for candidate_id, candidate in world.nodes:
            for voter_id, voter in world.voters.items():
                for pre_vote in (False, True):
                    for last in ((epoch, LARGEST_LONG), (world.epoch, 1000), (LARGEST, 0)):
                        partition = vote.PartitionData(
                            0, epoch, candidate_id, candidate, voter, *last, pre_vote
                        )
                        topic = vote.TopicData(METADATA, [partition])
                        yield vote.VoteRequest(world.cluster_id, voter_id, [topic])
    yield vote.VoteRequest()
    yield vote.VoteRequest(world.cluster_id, 1, [vote.TopicData("t", [])])


def begins(world: World) -> Iterator[Request[Any]]:
    for epoch in world.epochs:
        for leader_id, _ in world.nodes:
            for voter_id, voter in world.voters.items():
                partition = begin_quorum_epoch.PartitionData(0, voter, leader_id, epoch)
                topic = begin_quorum_epoch.TopicData(METADATA, [partition])
                yield begin_quorum_epoch.BeginQuorumEpochRequest(
                    world.cluster_id, voter_id, [topic]
                )


def ends(world: World) -> Iterator[Request[Any]]:
    for epoch in world.epochs:
        for leader_id, _ in world.nodes:
            partition = end_quorum_epoch.PartitionData(0, leader_id, epoch)
            topic = end_quorum_epoch.TopicData(METADATA, [partition])
            yield end_quorum_epoch.EndQuorumEpochRequest(world.cluster_id, [topic])


def snapshots(world: World) -> Iterator[Request[Any]]:
    for epoch in world.epochs:
        for replica_id, _ in world.nodes:
            snapshot_id = fetch_snapshot.SnapshotId(LARGEST_LONG, epoch)
            partition = fetch_snapshot.PartitionSnapshot(0, epoch, snapshot_id)
            topic = fetch_snapshot.TopicSnapshot(METADATA, [partition])
            yield fetch_snapshot.FetchSnapshotRequest(
                world.cluster_id, replica_id, LARGEST, [topic]
            )


def replica_fetch(world: World, node_id: int, offset: int, broker_epoch: int) -> Request[Any]:
    partition = fetch.FetchPartition(
        0, world.partition_epoch, offset, world.partition_epoch, partition_max_bytes=1 << 20
    )
    return fetch.FetchRequest(
        replica_state=fetch.ReplicaState(node_id, broker_epoch),
        max_wait_ms=0,
        topics=[fetch.FetchTopic(topic_id=world.topic_id, partitions=[partition])],
        session_epoch=-1,
    )


def fetches(world: World) -> Iterator[Request[Any]]:
    for node_id, directory_id in world.nodes:
        if node_id < 0:
            continue  # a consumer's
        for broker_epoch in (*range(12), -1, LARGEST_LONG):
            for offset in (world.end_offset, world.end_offset + 1000, LARGEST_LONG):
                yield replica_fetch(world, node_id, offset, broker_epoch)
        for epoch in world.epochs:
            partition = fetch.FetchPartition(
                0, epoch, LARGEST_LONG, epoch, replica_directory_id=directory_id
            )
            yield fetch.FetchRequest(
                cluster_id=world.cluster_id,
                replica_state=fetch.ReplicaState(node_id),
                topics=[fetch.FetchTopic(topic_id=METADATA_ID, partitions=[partition])],
            )


def isr_changes(world: World) -> Iterator[Request[Any]]:
    for broker_id, _ in world.nodes:
        for broker_epoch in (*range(12), -1, LARGEST_LONG):
            for epoch in (world.partition_epoch, world.partition_epoch + 1, LARGEST):
                partition = alter_partition.PartitionData(
                    0,
                    epoch,
                    new_isr_with_epochs=[alter_partition.BrokerState(broker_id, broker_epoch)],
                    partition_epoch=epoch,
                )
                topic = alter_partition.TopicData(topic_id=world.topic_id, partitions=[partition])
                yield alter_partition.AlterPartitionRequest(broker_id, broker_epoch, [topic])


def registrations(world: World) -> Iterator[Request[Any]]:
    for node_id, directory_id in world.nodes:
        for previous_epoch in (-1, 0, 5, LARGEST_LONG):
            yield BrokerRegistrationRequest(
                node_id,
                world.cluster_id,
                b"i" * 16,
                [Listener("PLAINTEXT", "127.0.0.1", 1, 0)],
                rack=None,
                log_dirs=[directory_id],
                previous_broker_epoch=previous_epoch,
            )


def heartbeats(world: World) -> Iterator[Request[Any]]:
    for node_id, _ in world.nodes:
        for broker_epoch in (*range(12), -1, LARGEST_LONG):
            for want_fence, want_shut_down in ((False, False), (True, False), (False, True)):
                yield BrokerHeartbeatRequest(
                    node_id, broker_epoch, LARGEST_LONG, want_fence, want_shut_down
                )


def doubts(world: World) -> Iterator[Request[Any]]:
    """That replicas can't be vouched for, which would take them out of the in-sync set."""
    for broker_id, directory_id in world.nodes:
        for broker_epoch in (*range(12), -1, LARGEST_LONG):
            for directory in (directory_id, bytes(16), bytes(15) + b"\1"):
                partitions = [assign_replicas_to_dirs.PartitionData(0)]
                topic = assign_replicas_to_dirs.TopicData(world.topic_id, partitions)
                yield assign_replicas_to_dirs.AssignReplicasToDirsRequest(
                    broker_id,
                    broker_epoch,
                    [assign_replicas_to_dirs.DirectoryData(directory, [topic])],
                )


def producer_ids(world: World) -> Iterator[Request[Any]]:
    for node_id, _ in world.nodes:
        for broker_epoch in (*range(12), -1, LARGEST_LONG):
            yield AllocateProducerIdsRequest(node_id, broker_epoch)


def markers(world: World) -> Iterator[Request[Any]]:
    for topic in (world.topic, "__transaction_state", "__consumer_offsets", METADATA):
        for committed in (True, False):
            for epoch in (world.producer_epoch, world.producer_epoch + 1, 32_767, -1):
                for coordinator_epoch in (0, 1, LARGEST, -1):
                    yield write_txn_markers.WriteTxnMarkersRequest(
                        [
                            write_txn_markers.WritableTxnMarker(
                                world.producer_id,
                                epoch,
                                committed,
                                [write_txn_markers.WritableTxnMarkerTopic(topic, [0])],
                                coordinator_epoch,
                            )
                        ]
                    )


def transactions(world: World) -> Iterator[Request[Any]]:
    for verify_only in (False, True):
        for topic in (world.topic, "__transaction_state"):
            for epoch in (world.producer_epoch, 32_767):
                asked = add_partitions_to_txn.AddPartitionsToTxnTransaction(
                    world.transactional_id,
                    world.producer_id,
                    epoch,
                    verify_only,
                    [add_partitions_to_txn.AddPartitionsToTxnTopic(topic, [0])],
                )
                yield add_partitions_to_txn.AddPartitionsToTxnRequest([asked])


def envelopes(_: World) -> Iterator[Request[Any]]:
    token = CreateDelegationTokenRequest(None, None)
    for name in ("root", "ANONYMOUS", ""):
        yield seal(token, Principal("User", name), "127.0.0.1")
    yield seal(RenewDelegationTokenRequest(bytes(64)), Principal("User", "root"), "")
    yield EnvelopeRequest(b"\0\0", None, b"")


def _of_topic(
    forged: Callable[[bytes], Iterator[Request[Any]]],
) -> Callable[[World], Iterator[Request[Any]]]:
    return lambda world: forged(world.topic_id)


FORGERIES: dict[type[Request[Any]], Callable[[World], Iterator[Request[Any]]]] = {
    vote.VoteRequest: votes,
    begin_quorum_epoch.BeginQuorumEpochRequest: begins,
    end_quorum_epoch.EndQuorumEpochRequest: ends,
    fetch_snapshot.FetchSnapshotRequest: snapshots,
    fetch.FetchRequest: fetches,
    alter_partition.AlterPartitionRequest: isr_changes,
    BrokerRegistrationRequest: registrations,
    BrokerHeartbeatRequest: heartbeats,
    AllocateProducerIdsRequest: producer_ids,
    assign_replicas_to_dirs.AssignReplicasToDirsRequest: doubts,
    write_txn_markers.WriteTxnMarkersRequest: markers,
    add_partitions_to_txn.AddPartitionsToTxnRequest: transactions,
    EnvelopeRequest: envelopes,
    **{kind: _of_topic(forged) for kind, forged in FORGED_STATES.items()},
}

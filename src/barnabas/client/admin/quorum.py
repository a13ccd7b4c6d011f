"""The quorum that keeps the metadata: who votes, who leads, who lags, and who may vote."""

from typing import NamedTuple

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.wire.endpoint import Address, SecurityProtocol
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.add_raft_voter import Listener as VoterListener
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    PartitionResult,
    ReplicaState,
    TopicData,
)
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

METADATA_TOPIC = "__cluster_metadata"


class QuorumReplica(NamedTuple):
    """A copy of the metadata log: a node's, on one disk. Times are -1 if unknown."""

    node_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class QuorumDescription(NamedTuple):
    """The quorum as its leader sees it; voters and observers are in order."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]

    @property
    def end_offset(self) -> int:
        """Where the leader's log ends."""
        ends = [each.log_end_offset for each in self.voters if each.node_id == self.leader_id]
        return max([*ends, self.high_watermark])

    def find(self, node_id: int) -> list[QuorumReplica]:
        """The replicas of a node: several when it has lost its disk and come back."""
        return [each for each in (*self.voters, *self.observers) if each.node_id == node_id]


async def describe_quorum(cluster: ClusterClient) -> QuorumDescription:
    """Ask the quorum's leader, through whichever broker answers."""

    async def attempt() -> QuorumDescription:
        answer = await _ask(await cluster.controller(), cluster.request_timeout_ms)
        check(answer.error_code, "the quorum", answer.error_message, needs="describe")
        return QuorumDescription(
            answer.leader_id,
            answer.leader_epoch,
            answer.high_watermark,
            sorted(map(_replica_of, answer.current_voters)),
            sorted(map(_replica_of, answer.observers)),
        )

    return await cluster.retrying(attempt)


class KnownVoters(NamedTuple):
    """What a broker that has no controller tells of those who vote: each a node and its disk."""

    voters: set[tuple[int, bytes]]
    """Empty if it knows none."""
    itself: tuple[int, bytes] | None
    """None if it does not tell."""


async def voters_known_to(connection: BrokerConnection, timeout_ms: int) -> KnownVoters:
    """Ask one broker, whichever it is."""
    answer = await _ask(connection, timeout_ms)
    voters = {_key_of(state) for state in answer.current_voters}
    if answer.error_code == ErrorCode.BROKER_NOT_AVAILABLE:  # in no cluster: it names itself
        return KnownVoters(set(), next(iter(voters), None))
    for state in (*answer.current_voters, *answer.observers):
        # Of the others it does not know how far they are, unless it leads.
        is_leader = not answer.error_code and state.replica_id == answer.leader_id
        if is_leader or (answer.error_code and state.log_end_offset >= 0):
            return KnownVoters(voters, _key_of(state))
    return KnownVoters(voters, None)


def _key_of(state: ReplicaState) -> tuple[int, bytes]:
    return state.replica_id, bytes(state.replica_directory_id)


async def _ask(connection: BrokerConnection, timeout_ms: int) -> PartitionResult:
    request = DescribeQuorumRequest(topics=[TopicData(METADATA_TOPIC, [PartitionData(0)])])
    response = await connection.send(request, timeout_ms=timeout_ms)
    check(response.error_code, "the quorum", response.error_message, needs="describe")
    answers = [answer for topic in response.topics for answer in topic.partitions]
    if not answers:
        raise broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, "the quorum", "it is left out")
    return answers[0]


async def add_voter(
    cluster: ClusterClient, node_id: int, directory_id: bytes, address: Address
) -> None:
    """Let a node vote that has followed the metadata log as an observer."""
    request = AddRaftVoterRequest(
        cluster_id=cluster.cluster_id,
        timeout_ms=cluster.request_timeout_ms,
        voter_id=node_id,
        voter_directory_id=directory_id,
        listeners=[VoterListener(SecurityProtocol.PLAINTEXT.name, address.host, address.port)],
    )

    async def attempt() -> None:
        response = await (await cluster.controller()).send(
            request, timeout_ms=cluster.request_timeout_ms
        )
        if response.error_code != ErrorCode.DUPLICATE_VOTER:  # an earlier attempt was heard
            check(response.error_code, f"node {node_id}", response.error_message, needs="alter")

    await cluster.retrying(attempt)


async def remove_voter(cluster: ClusterClient, node_id: int, directory_id: bytes) -> None:
    """Take a node's vote away."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster.cluster_id, voter_id=node_id, voter_directory_id=directory_id
    )

    async def attempt() -> None:
        response = await (await cluster.controller()).send(
            request, timeout_ms=cluster.request_timeout_ms
        )
        if response.error_code != ErrorCode.VOTER_NOT_FOUND:  # an earlier attempt was heard
            check(response.error_code, f"node {node_id}", response.error_message, needs="alter")

    await cluster.retrying(attempt)


def _replica_of(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.replica_directory_id,
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )

"""How a cluster is: its nodes, its quorum, and the partitions that lack something."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from barnabas.client.admin.brokers import BrokerDescription, ClusterDescription, describe_cluster
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.quorum import QuorumDescription, QuorumReplica, describe_quorum
from barnabas.client.admin.reassignments import Reassignment, list_reassignments
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    partitions_of,
)
from barnabas.diagnosis.denied import denied_topics, hidden_topics, unless_denied
from barnabas.diagnosis.missing_controller import why_no_controller
from barnabas.errors import BarnabasError, BrokerError, NotAuthorized, ProtocolMismatch
from barnabas.quantities import counted
from barnabas.wire.errors import ErrorCode

UP = "up"
FENCED = "fenced"
MISSING = "not registered"
UNREACHABLE = "unreachable"

CONNECT_TIMEOUT_MS = 1_500
REQUEST_TIMEOUT_MS = 1_500
RETRY_TIMEOUT_MS = 1_000
"""Short: who looks at a cluster in trouble wants to know what there is to know."""

_SILENT_MS = 5_000
_LOOKS = 3
_MIN_ISR = "min.insync.replicas"

QUORUM = "quorum"
"""In `unknown`, where the user may not describe the cluster."""

VOTER = "voter"
OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node that is registered, or ought to be because it votes."""

    node_id: int
    address: str | None
    rack: str | None
    state: str
    role: str | None
    is_controller: bool
    leaders: int
    replicas: int


@dataclass(frozen=True, slots=True)
class VoterStatus:
    """The progress of a voter; `behind_ms` is None when it is unknown."""

    node_id: int
    lag: int | None
    behind_ms: int | None
    has_lost_disk: bool = False
    """Whether its node is there with another disk, which has no vote."""


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """The quorum as its leader sees it."""

    leader_id: int
    epoch: int
    high_watermark: int
    voters: list[VoterStatus]


@dataclass(slots=True)
class ClusterStatus:
    """All of it; `quorum` is None when no controller answers, for the reason in `problems`."""

    cluster_id: str
    nodes: list[NodeStatus]
    quorum: QuorumStatus | None
    partitions: dict[TopicPartition, PartitionMetadata]
    under_replicated: dict[TopicPartition, PartitionMetadata]
    below_min_isr: dict[TopicPartition, int]
    """With the number of replicas that must be in sync."""
    offline: list[TopicPartition]
    """Without a leader, or with one that can not be reached from here."""
    moving: dict[TopicPartition, Reassignment]
    problems: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """What this user may not see, with the right that is needed."""

    @property
    def is_healthy(self) -> bool:
        return not self.problems


async def collect(cluster: ClusterClient) -> ClusterStatus:
    """Ask for everything. Raises if the cluster can not be reached at all."""
    why_not: str | None = None
    quorum: QuorumDescription | None = None
    moving: dict[TopicPartition, Reassignment] = {}
    unreachable: set[int] | None = None
    unknown: dict[str, str] = {}
    try:
        described = await describe_cluster(cluster)
        with contextlib.suppress(ProtocolMismatch):  # another Kafka keeps its quorum to itself
            with unless_denied("moves of replicas", unknown):
                moving = await list_reassignments(cluster)
            with unless_denied(QUORUM, unknown):
                quorum = await describe_quorum(cluster)
    except BarnabasError as error:
        unreachable = await _unreachable(cluster)
        why_not = await why_no_controller(cluster, unreachable) or str(error)
        described = await describe_cluster(cluster, ask_any=True)
    refused: dict[str, NotAuthorized] = {}
    topics, min_isr = await topics_and_min_isr(cluster, refused)
    unknown |= denied_topics("min.insync.replicas", refused)
    unknown |= await hidden_topics(cluster)
    if unreachable is None:
        unreachable = await _unreachable(cluster)
    status = summarize(described, topics, quorum, moving, min_isr, unreachable, why_not)
    status.unknown = unknown
    return status


async def _unreachable(cluster: ClusterClient) -> set[int]:
    """The nodes that ought to be there and that no connection can be made to from here."""

    async def is_reachable(node_id: int) -> bool:
        try:
            await cluster.connection(node_id)
        except BarnabasError:
            return False
        return True

    nodes = list(cluster.brokers)
    reachable = await asyncio.gather(*map(is_reachable, nodes))
    return {node for node, is_there in zip(nodes, reachable, strict=True) if not is_there}


def summarize(
    described: ClusterDescription,
    topics: Mapping[str, TopicMetadata],
    quorum: QuorumDescription | None,
    moving: Mapping[TopicPartition, Reassignment],
    min_isr: Mapping[str, int],
    unreachable: Collection[int] = (),
    quorum_problem: str | None = None,
) -> ClusterStatus:
    """Put together what the parts say. `min_isr` is that of each topic."""
    everything = partitions_of(topics)
    status = ClusterStatus(
        described.cluster_id,
        _nodes(described, quorum, list(everything.values()), unreachable),
        None if quorum is None or quorum_problem else _quorum(quorum),
        everything,
        {
            name: each
            for name, each in everything.items()
            if len(each.isr) < len(each.replicas)
            and (name not in moving or not _only_moving(each, moving[name]))
        },
        {
            name: min_isr.get(name.topic, 1)
            for name, each in everything.items()
            if len(each.isr) < min_isr.get(name.topic, 1)
        },
        [name for name, each in everything.items() if each.leader in {NO_LEADER, *unreachable}],
        dict(moving),
    )
    status.problems = _problems(status, quorum_problem)
    return status


def _only_moving(partition: PartitionMetadata, move: Reassignment) -> bool:
    """Whether the only replicas that lag are those that have just been added."""
    return set(partition.replicas) - set(partition.isr) <= set(move.adding)


async def topics_and_min_isr(
    cluster: ClusterClient, refused: dict[str, NotAuthorized] | None = None
) -> tuple[dict[str, TopicMetadata], dict[str, int]]:
    """All topics, and how many replicas of each must be in sync.

    Topics whose settings may not be read are left out and added to `refused`, if that is given.
    """
    for _ in range(_LOOKS):
        topics = await cluster.refresh(None)
        try:
            return topics, await _min_isr(cluster, sorted(topics), refused)
        except BrokerError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise  # and if not, one has been deleted meanwhile
    return topics, {}


async def _min_isr(
    cluster: ClusterClient, topics: list[str], refused: dict[str, NotAuthorized] | None
) -> dict[str, int]:
    if not topics:
        return {}
    configs = await describe_configs(
        cluster, ResourceType.TOPIC, topics, keys=[_MIN_ISR], refused=refused
    )
    return {
        name: int(entry.value or 1)
        for name, entries in configs.items()
        for entry in entries
        if entry.name == _MIN_ISR
    }


def _nodes(
    described: ClusterDescription,
    quorum: QuorumDescription | None,
    partitions: list[PartitionMetadata],
    unreachable: Collection[int],
) -> list[NodeStatus]:
    leaders = Counter(each.leader for each in partitions)
    replicas = Counter(node for each in partitions for node in each.replicas)
    voters = {each.node_id for each in quorum.voters} if quorum is not None else set()
    controller = None if quorum is None else quorum.leader_id
    known = {broker.node_id: broker for broker in described.brokers}
    nodes = []
    for node_id in sorted({*known, *voters}):
        broker = known.get(node_id)
        nodes.append(
            NodeStatus(
                node_id,
                None if broker is None else str(broker.address),
                None if broker is None else broker.rack,
                _state(broker, unreachable),
                None if quorum is None else VOTER if node_id in voters else OBSERVER,
                node_id == controller,
                leaders[node_id],
                replicas[node_id],
            )
        )
    return nodes


def _state(broker: BrokerDescription | None, unreachable: Collection[int]) -> str:
    if broker is None:
        return MISSING
    if broker.fenced:
        return FENCED
    return UNREACHABLE if broker.node_id in unreachable else UP


def _quorum(quorum: QuorumDescription) -> QuorumStatus:
    # The leader's clock, from its newest timestamp: the local clock may differ.
    replicas = (*quorum.voters, *quorum.observers)
    now = max(max(each.last_fetch_timestamp, each.last_caught_up_timestamp) for each in replicas)
    return QuorumStatus(
        quorum.leader_id,
        quorum.leader_epoch,
        quorum.high_watermark,
        [_voter(each, quorum, now) for each in quorum.voters],
    )


def _voter(voter: QuorumReplica, quorum: QuorumDescription, now: int) -> VoterStatus:
    lag = quorum.end_offset - voter.log_end_offset if voter.log_end_offset >= 0 else None
    if voter.node_id == quorum.leader_id:
        return VoterStatus(voter.node_id, 0, 0)
    caught_up = voter.last_caught_up_timestamp
    behind_ms = max(now - caught_up, 0) if now >= 0 and caught_up >= 0 else None
    came_back_empty = any(each.node_id == voter.node_id for each in quorum.observers)
    return VoterStatus(voter.node_id, lag, behind_ms, came_back_empty)


def _problems(status: ClusterStatus, quorum_problem: str | None) -> list[str]:
    problems = [] if quorum_problem is None else [f"no controller: {quorum_problem}"]
    problems += [
        f"node {node.node_id} is {node.state}" for node in status.nodes if node.state != UP
    ]
    if status.quorum is not None:
        up = {node.node_id for node in status.nodes if node.state == UP}
        problems += [
            f"voter {voter.node_id} does not fetch the metadata: see its log and /readyz"
            for voter in status.quorum.voters
            if voter.lag is None and voter.node_id in up and not voter.has_lost_disk
        ]
        problems += [
            f"voter {voter.node_id} is {voter.behind_ms // 1000} s behind"
            for voter in status.quorum.voters
            if voter.behind_ms is not None and voter.behind_ms >= _SILENT_MS
        ]
        problems += [
            f"voter {voter.node_id} came back with an empty directory, which has no vote yet"
            for voter in status.quorum.voters
            if voter.has_lost_disk
        ]
    lacking = [
        (len(status.offline), "not available"),
        (len(status.below_min_isr), "below min.insync.replicas"),
        (len(status.under_replicated), "under-replicated"),
    ]
    problems += [f"{counted(count, 'partition')} {what}" for count, what in lacking if count]
    return problems

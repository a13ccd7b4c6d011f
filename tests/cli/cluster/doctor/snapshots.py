"""Snapshots of clusters, as the checks of a doctor get them."""

from dataclasses import replace
from typing import Any

from barnabas.client.admin.brokers import BrokerDescription, ClusterDescription
from barnabas.client.admin.quorum import QuorumDescription, QuorumReplica
from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from barnabas.diagnosis.examine import examine
from barnabas.diagnosis.facts import Facts, NodeFacts
from barnabas.diagnosis.finding import Finding
from barnabas.diagnosis.status import summarize
from barnabas.wire.endpoint import Address

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000


def partition(index: int, replicas: list[int], isr: list[int] | None = None) -> PartitionMetadata:
    in_sync = replicas if isr is None else isr
    return PartitionMetadata(index, (in_sync or [NO_LEADER])[0], 0, replicas, in_sync, [])


def topic(name: str, *partitions: PartitionMetadata) -> TopicMetadata:
    return TopicMetadata(name, 0, False, list(partitions))


def facts(
    *topics: TopicMetadata,
    nodes: tuple[int, ...] = (1, 2, 3),
    voters: tuple[int, ...] | None = None,
    fenced: tuple[int, ...] = (),
    racks: dict[int, str] | None = None,
    min_isr: dict[str, int] | None = None,
    behind_ms: int = 0,
    problem: str | None = None,
    moving: tuple[TopicPartition, ...] = (),
    **given: Any,
) -> Facts:
    """A cluster that lacks nothing, but for what is given."""
    brokers = [
        BrokerDescription(n, Address(f"h{n}", 9092), (racks or {}).get(n), n in fenced)
        for n in nodes
    ]
    replicas = [
        QuorumReplica(n, bytes(16), 100, NOW_MS, NOW_MS - (behind_ms if n != nodes[0] else 0))
        for n in (nodes if voters is None else voters)
    ]
    status = summarize(
        ClusterDescription("c", nodes[0], brokers),
        {each.name: each for each in topics},
        QuorumDescription(nodes[0], 1, 100, replicas, []),
        {each: Reassignment([], [], []) for each in moving},
        min_isr or {},
        (),
        problem,
    )
    known = {each.name: {"min.insync.replicas": _min_isr(each)} for each in topics}
    built = Facts(status, NOW_MS, problem, [NodeFacts(n) for n in nodes], known)
    return replace(built, **given)


def _min_isr(topic: TopicMetadata) -> str:
    return "2" if all(len(each.replicas) >= 3 for each in topic.partitions) else "1"


def found(given: Facts) -> list[Finding]:
    return examine(given)


def only(given: Facts) -> Finding:
    """The one finding that there is."""
    (finding,) = examine(given)
    return finding

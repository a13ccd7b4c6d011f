"""The snapshot of a cluster: one part after the other, each as far as it can be had."""

from collections.abc import Awaitable, Mapping
from time import time
from typing import TypeVar

from barnabas.client.admin.active_producers import ActiveProducer, find_hanging
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.features import describe_features
from barnabas.client.admin.log_directories import log_directories
from barnabas.client.admin.quotas import describe_quotas
from barnabas.client.admin.transactions import list_transactions
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER
from barnabas.diagnosis.collect.groups import group_facts
from barnabas.diagnosis.collect.nodes import node_facts, why_no_metrics
from barnabas.diagnosis.denied import denied_topics, left_out
from barnabas.diagnosis.facts import Facts, Limits, NodeFacts, as_number
from barnabas.diagnosis.status import QUORUM, ClusterStatus, collect
from barnabas.errors import BarnabasError, NotAuthorized

T = TypeVar("T")

_NO_CONTROLLER = "no controller: "
_MAX_TIMEOUT = "transaction.max.timeout.ms"
_DEFAULT_MAX_TIMEOUT_MS = 900_000
TOPIC_SETTINGS = (
    "cleanup.policy",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""What checks look at: of ten thousand topics, all settings would be a third of a million."""


async def take_snapshot(cluster: ClusterClient, limits: Limits) -> Facts:
    """Ask for everything. Raises if the cluster can not be reached at all.

    A part that fails, because a node is down, the user lacks a permission or an older Kafka lacks
    the API, is left out and named in `unknown`.
    """
    status = await collect(cluster)
    unknown = dict(status.unknown)

    async def part(name: str, asked: Awaitable[T], without: T) -> T:
        try:
            return await asked
        except BarnabasError as error:
            unknown[name] = str(error)
            return without

    if QUORUM in status.unknown:  # whoever may describe the cluster sees all groups
        unknown["groups"] = left_out("--cluster")
    nodes = await part("nodes", node_facts(cluster), list[NodeFacts]())
    _name_missing(nodes, status, unknown)
    now_ms = int(time() * 1000)
    return Facts(
        status,
        now_ms,
        _why_no_controller(status),
        nodes,
        await part("settings of topics", _topic_configs(cluster, status, unknown), {}),
        await part("disks", log_directories(cluster), []),
        await part("groups", group_facts(cluster, status.partitions), []),
        await part("transactions", _hanging(cluster, status, nodes, now_ms), []),
        await part("open transactions", _left_open(cluster, nodes), []),
        await part("quotas", describe_quotas(cluster), []),
        limits,
        unknown,
        await part("levels of features", describe_features(cluster), None),
    )


def _why_no_controller(status: ClusterStatus) -> str | None:
    for problem in status.problems:
        if problem.startswith(_NO_CONTROLLER):
            return problem.removeprefix(_NO_CONTROLLER)
    return None


def _name_missing(nodes: list[NodeFacts], status: ClusterStatus, unknown: dict[str, str]) -> None:
    denied = next((each.denied for each in nodes if each.denied), None)
    if denied is not None:
        unknown["settings of nodes"] = denied
    why = why_no_metrics(nodes)
    if why is not None and len(status.nodes) > 1:
        unknown["clocks, open files"] = why


async def _topic_configs(
    cluster: ClusterClient, status: ClusterStatus, unknown: dict[str, str]
) -> Mapping[str, Mapping[str, str | None]]:
    topics = sorted({name.topic for name in status.partitions})
    if not topics:
        return {}
    refused: dict[str, NotAuthorized] = {}
    described = await describe_configs(
        cluster, ResourceType.TOPIC, topics, keys=TOPIC_SETTINGS, refused=refused
    )
    unknown |= denied_topics("settings of topics", refused)
    return {
        topic: {entry.name: entry.value for entry in entries}
        for topic, entries in described.items()
    }


async def _hanging(
    cluster: ClusterClient, status: ClusterStatus, nodes: list[NodeFacts], now_ms: int
) -> list[ActiveProducer]:
    """Idle for as long as any transaction may take: before that, one may just be ending."""
    longest = _longest_ms(nodes)
    unavailable = set(status.offline)
    led = [
        name
        for name, each in status.partitions.items()
        if each.leader != NO_LEADER and name not in unavailable
    ]
    return await find_hanging(cluster, led, idle_since_ms=now_ms - longest)


async def _left_open(cluster: ClusterClient, nodes: list[NodeFacts]) -> list[str]:
    listed = await list_transactions(cluster, states=["Ongoing"], longer_than_ms=_longest_ms(nodes))
    return sorted(each.transactional_id for each in listed)


def _longest_ms(nodes: list[NodeFacts]) -> int:
    """How long a transaction with a timeout may take."""
    return max(
        (as_number(node.configs.get(_MAX_TIMEOUT)) or _DEFAULT_MAX_TIMEOUT_MS for node in nodes),
        default=_DEFAULT_MAX_TIMEOUT_MS,
    )

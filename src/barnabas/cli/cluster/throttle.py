"""`--throttle`: a limit on how fast replicas are copied while they are moved.

It is set as Kafka's own tool sets it: a rate for each node that takes part, and for each topic the
replicas that it is for. Only replicas that catch up are limited.
"""

from asyncio import CancelledError
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from barnabas.cli.base.output import say
from barnabas.client.admin.configs import ResourceType, alter_configs
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_LEADERS = "leader.replication.throttled.replicas"
_FOLLOWERS = "follower.replication.throttled.replicas"


@asynccontextmanager
async def throttled(
    cluster: ClusterClient,
    plan: Mapping[TopicPartition, Sequence[int]],
    before: Mapping[TopicPartition, Sequence[int]],
    bytes_per_second: int | None,
    *,
    stays_if_interrupted: bool = True,
) -> AsyncIterator[None]:
    """Limit the moves of `plan`; `before` is where the replicas are. None: no limit.

    What is interrupted goes on within the limit, unless its moves were cancelled.
    """
    if bytes_per_second is None:
        yield
        return
    nodes = sorted(
        {node for each in (*plan.values(), *map(before.__getitem__, plan)) for node in each}
    )
    leaders: dict[str, list[str]] = defaultdict(list)
    followers: dict[str, list[str]] = defaultdict(list)
    for name, target in plan.items():
        old = before[name]
        leaders[name.topic] += (f"{name.partition}:{node}" for node in old)
        followers[name.topic] += (f"{name.partition}:{node}" for node in target if node not in old)
    for topic, named_leaders in leaders.items():
        named = {_LEADERS: ",".join(named_leaders), _FOLLOWERS: ",".join(followers[topic])}
        await alter_configs(cluster, ResourceType.TOPIC, topic, settings=named)
    rates = dict.fromkeys(_RATES, str(bytes_per_second))
    for node in nodes:
        await alter_configs(cluster, ResourceType.BROKER, str(node), settings=rates)
    try:
        yield
    except CancelledError:
        if not stays_if_interrupted:
            await _remove(cluster, nodes, leaders)
            raise
        say(
            f"the throttle stays; remove it with `barnabas configs unset broker NODE "
            f"{' '.join(_RATES)}` for each of the nodes {', '.join(map(str, nodes))}"
        )
        raise
    await _remove(cluster, nodes, leaders)


async def _remove(cluster: ClusterClient, nodes: Iterable[int], topics: Iterable[str]) -> None:
    for node in nodes:
        await alter_configs(cluster, ResourceType.BROKER, str(node), deletions=_RATES)
    for topic in topics:
        await alter_configs(cluster, ResourceType.TOPIC, topic, deletions=(_LEADERS, _FOLLOWERS))

"""`barnabas cluster balance`: what partitions take, the plan, and carrying it out."""

import asyncio
from collections.abc import Collection, Mapping
from time import monotonic
from typing import NamedTuple

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import say
from barnabas.cli.cluster.membership import check_sources, settled_cluster
from barnabas.cli.cluster.reassignments import (
    begin,
    carry_out,
    let_preferred_lead,
    places_of,
)
from barnabas.cli.cluster.throttle import throttled
from barnabas.client.admin.balance import BalanceGoals, PartitionLoad, plan_balance
from barnabas.client.admin.reassignments import list_reassignments
from barnabas.client.admin.topics import log_sizes
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    NO_LEADER,
    PartitionMetadata,
    TopicPartition,
    partitions_of,
)
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.quantities import agreeing, counted


class PlannedMove(NamedTuple):
    """A partition with other replicas, or another preferred leader."""

    partition: TopicPartition
    before: list[int]
    after: list[int]
    bytes: int
    """That are copied to other nodes."""

    @property
    def removed(self) -> list[int]:
        return [each for each in self.before if each not in self.after]

    @property
    def added(self) -> list[int]:
        return [each for each in self.after if each not in self.before]


class BalancePlan(NamedTuple):
    """What is moved, and what can't leave a node that is to be emptied."""

    moves: list[PlannedMove]
    stuck: list[TopicPartition]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.moves)


async def make_plan(
    cluster: ClusterClient, goals: BalanceGoals, leaving: Collection[int], sample_s: float
) -> BalancePlan:
    """Look at the cluster, and plan. Raises `CommandError` if a node is down."""
    described = await settled_cluster(cluster)
    known = {broker.node_id for broker in described.brokers}
    for each in sorted(set(leaving) - known):
        listed = ", ".join(map(str, sorted(known)))
        raise CommandError(f"there is no node {each}; the cluster has nodes {listed}")
    down = [each.node_id for each in described.brokers if each.fenced]
    missing = [each for each in down if each not in leaving]
    if missing:
        # Its share would go to the others, and it would be left with what it has.
        raise CommandError(
            f"node {missing[0]} is down: start it, or empty it with --without {missing[0]}"
        )
    under_way = await list_reassignments(cluster)
    if under_way:
        count = counted(len(under_way), "partition")
        raise CommandError(
            f"{count} {agreeing(len(under_way), 'is', 'are')} being moved, such as "
            f"{min(under_way)}; wait for the end (`barnabas cluster status`), or cancel the move "
            "(`barnabas cluster move --cancel`)"
        )
    partitions = partitions_of(await cluster.refresh(None))
    for each in leaving:
        check_sources(described, partitions, each)
    loads = await _loads(cluster, partitions, sample_s if goals.rate else None)
    assignment = {name: each.replicas for name, each in partitions.items()}
    moves, stuck = plan_balance(assignment, places_of(described), loads, goals, leaving)
    planned = []
    for name, after in moves.items():
        added = [each for each in after if each not in assignment[name]]
        planned.append(PlannedMove(name, assignment[name], after, loads[name].bytes * len(added)))
    return BalancePlan(planned, stuck)


async def _loads(
    cluster: ClusterClient,
    partitions: Mapping[TopicPartition, PartitionMetadata],
    sample_s: float | None,
) -> dict[TopicPartition, PartitionLoad]:
    """Bytes on disk; and the rate at which they grow, from the ends of the logs in between."""
    sizes = await log_sizes(cluster)
    loads = {name: PartitionLoad(sizes.get(name, 0)) for name in partitions}
    if sample_s is None:
        return loads
    led = [name for name, each in partitions.items() if each.leader != NO_LEADER]
    began = monotonic()
    bounds = await beginning_and_end(cluster, led)
    await asyncio.sleep(sample_s)
    later = await beginning_and_end(cluster, led)
    passed_s = monotonic() - began
    for name, (first, end) in bounds.items():
        grown = max(0, later[name][1] - end)
        each = loads[name].bytes / max(1, later[name][1] - first)
        loads[name] = loads[name]._replace(rate=grown * each / passed_s)
    return loads


async def apply_plan(
    cluster: ClusterClient,
    plan: BalancePlan,
    bytes_per_second: int | None,
    *,
    cancel_on_interrupt: bool,
) -> None:
    """Move as planned; Ctrl-C leaves what has begun to the cluster, or cancels it."""
    targets = {each.partition: each.after for each in plan.moves}
    before = {each.partition: each.before for each in plan.moves}
    async with throttled(
        cluster,
        targets,
        before,
        bytes_per_second,
        stays_if_interrupted=not cancel_on_interrupt,
    ):
        try:
            await carry_out(cluster, targets, "balancing")
        except asyncio.CancelledError:
            if cancel_on_interrupt:
                await _cancel(cluster, targets)
            raise
    await let_preferred_lead(cluster, targets)


async def _cancel(cluster: ClusterClient, targets: Collection[TopicPartition]) -> None:
    mine = [each for each in await list_reassignments(cluster) if each in targets]
    if mine:
        await begin(cluster, dict.fromkeys(mine, None))
    say(f"cancelled {len(mine)} moves; what was moved before stays where it is now")

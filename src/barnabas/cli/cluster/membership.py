"""Nodes that join, leave, or are to lead nothing for a while."""

import asyncio
from collections.abc import Collection, Mapping
from time import monotonic
from typing import NamedTuple

from barnabas.cli.base.command import CommandError
from barnabas.cli.base.output import say
from barnabas.cli.cluster.reassignments import (
    assignment_of,
    carry_out,
    let_preferred_lead,
    places_of,
    replicas_on,
)
from barnabas.cli.cluster.throttle import throttled
from barnabas.client.admin.brokers import (
    BrokerDescription,
    ClusterDescription,
    describe_cluster,
    unregister_broker,
)
from barnabas.client.admin.placement import drop_from, lead_elsewhere, move_off, spread
from barnabas.client.admin.quorum import add_voter, describe_quorum, remove_voter
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    PartitionMetadata,
    TopicPartition,
    partitions_of,
)
from barnabas.quantities import counted

_OBSERVER_WAIT_S = 15.0
_NODE_WAIT_S = 15.0
_LEADER_WAIT_S = 5.0
_LOOK_EVERY_S = 0.3


class Drained(NamedTuple):
    """What came of it: the partitions that the node still leads, or keeps against the wish."""

    moved: int
    leading: list[TopicPartition]
    stuck: list[TopicPartition]
    was_down: bool


async def add_node(cluster: ClusterClient, node_id: int) -> str:
    """Let a node vote; says how many do then."""
    hint = f"; start it with `barnabas server --id {node_id} --voters ...`"
    described = await settled_cluster(cluster, {node_id})
    broker = _known(described, node_id, hint)
    if broker.fenced:
        raise CommandError(f"node {node_id} at {broker.address} is down; start it first")
    deadline = monotonic() + _OBSERVER_WAIT_S
    while True:
        quorum = await describe_quorum(cluster)
        if any(voter.node_id == node_id for voter in quorum.voters):
            return f"node {node_id} is already one of {counted(len(quorum.voters), 'voter')}"
        observing = [each for each in quorum.observers if each.node_id == node_id]
        if observing:
            break
        if monotonic() > deadline:
            raise CommandError(
                f"node {node_id} is registered but does not fetch the metadata log; check that its "
                "controller.quorum.voters names the voters of this cluster"
            )
        await asyncio.sleep(_LOOK_EVERY_S)
    latest = max(observing, key=lambda each: each.last_fetch_timestamp)
    await add_voter(cluster, node_id, latest.directory_id, broker.address)
    count = len(quorum.voters) + 1
    even = "" if count % 2 else "; one voter less tolerates as many failures"
    return f"node {node_id} is now one of {counted(count, 'voter')}{even}"


async def spread_replicas(cluster: ClusterClient, bytes_per_second: int | None = None) -> int:
    """Give every node its share of replicas and leaders; how many partitions that changed."""
    described = await settled_cluster(cluster)
    down = [broker.node_id for broker in described.brokers if broker.fenced]
    if down:
        # Its share would go to the others, and it would be left with what it has.
        raise CommandError(
            f"node {down[0]} is down: start it, or remove it with `barnabas cluster remove-node "
            f"{down[0]}`, and rebalance again"
        )
    assignment = assignment_of(await cluster.refresh(None))
    plan = spread(assignment, places_of(described))
    async with throttled(cluster, plan, assignment, bytes_per_second):
        await carry_out(cluster, plan, "rebalancing")
    # Also those that need no move: their leaders may have changed while a node was down.
    await let_preferred_lead(cluster, assignment.keys())
    return len(plan)


async def remove_node(
    cluster: ClusterClient,
    node_id: int,
    *,
    fewer_replicas: bool,
    wait: bool,
    bytes_per_second: int | None = None,
) -> tuple[int, bool]:
    """Move what the node has, take its vote, and forget it once it is down.

    Returns how many partitions were moved, and whether it is forgotten.
    """
    described = await settled_cluster(cluster, leaving=node_id)
    quorum = await describe_quorum(cluster)
    votes = [voter for voter in quorum.voters if voter.node_id == node_id]
    registered = any(broker.node_id == node_id for broker in described.brokers)
    if not registered and not votes:
        _known(described, node_id)
    if votes and len(quorum.voters) == len(votes):
        raise CommandError(f"node {node_id} is the only voter; add another voter first")
    moved = await _move_all_off(
        cluster,
        described,
        node_id,
        fewer_replicas=fewer_replicas,
        bytes_per_second=bytes_per_second,
    )
    for vote in votes:
        await remove_voter(cluster, node_id, vote.directory_id)
    if not registered:
        return moved, True
    said = False
    while not await _is_down(cluster, node_id):
        if not wait:
            return moved, False
        if not said:
            said = True
            say(f"node {node_id} has no replicas and no vote any more; stop it now")
        await asyncio.sleep(_LOOK_EVERY_S)
    await unregister_broker(cluster, node_id)
    return moved, True


async def drain(cluster: ClusterClient, node_id: int, *, replicas: bool) -> Drained:
    """Move leadership away from a node, and replicas if wanted."""
    described = await (
        settled_cluster(cluster, leaving=node_id) if replicas else describe_cluster(cluster)
    )
    was_down = _known(described, node_id).fenced
    moved = 0
    stuck: list[TopicPartition] = []
    if replicas:
        partitions = partitions_of(await cluster.refresh(None))
        check_sources(described, partitions, node_id)
        assignment = {name: each.replicas for name, each in partitions.items()}
        moves, stuck = move_off(assignment, places_of(described), node_id)
        await carry_out(cluster, moves, "draining")
        moved += len(moves)
    partitions = partitions_of(await cluster.refresh(None))
    plan = lead_elsewhere(
        {
            name: each.replicas
            for name, each in partitions.items()
            if node_id in (each.leader, *each.replicas[:1])
        },
        _able(described, partitions),
        node_id,
    )
    if not was_down:  # a node that is down leads nothing
        await carry_out(cluster, plan.moves, "draining")
        moved += len(plan.moves)
    return Drained(moved, await _led_by(cluster, node_id, plan.moves), stuck, was_down)


def _able(
    described: ClusterDescription, partitions: Mapping[TopicPartition, PartitionMetadata]
) -> dict[TopicPartition, list[int]]:
    """The replicas that are there and in sync."""
    up = {broker.node_id for broker in described.brokers if not broker.fenced}
    return {name: [node for node in each.isr if node in up] for name, each in partitions.items()}


async def _led_by(
    cluster: ClusterClient, node_id: int, moved: Collection[TopicPartition]
) -> list[TopicPartition]:
    """What a node leads, after the brokers have had time to hear of what was moved."""
    deadline = monotonic() + _LEADER_WAIT_S
    while True:
        partitions = partitions_of(await cluster.refresh(None))
        leading = [name for name, each in sorted(partitions.items()) if each.leader == node_id]
        if not set(leading) & set(moved) or monotonic() > deadline:
            return leading
        await asyncio.sleep(_LOOK_EVERY_S)


def check_sources(
    described: ClusterDescription,
    partitions: Mapping[TopicPartition, PartitionMetadata],
    leaving: int,
) -> None:
    """Refuse to move partitions without a running replica to copy from: that would never end."""
    able = _able(described, partitions)
    up = {broker.node_id for broker in described.brokers if not broker.fenced}
    for name, each in sorted(partitions.items()):
        if leaving not in each.replicas or able[name] or not each.isr:
            continue
        keeper = each.isr[0]
        which = f"{name.topic}:{name.partition}"
        elect = f"`barnabas cluster elect {which} --unclean`"
        if not up & set(each.replicas):
            # An election needs a replica that is there, even if that has nothing.
            elect = f"`barnabas cluster move {which} --to {min(up)} --no-wait` and then {elect}"
        raise CommandError(
            f"{name} is only on node {keeper}, which is down; start node {keeper}, or give up its "
            f"data with {elect}"
        )


async def _move_all_off(
    cluster: ClusterClient,
    described: ClusterDescription,
    node_id: int,
    *,
    fewer_replicas: bool,
    bytes_per_second: int | None,
) -> int:
    partitions = partitions_of(await cluster.refresh(None))
    check_sources(described, partitions, node_id)
    assignment = {name: each.replicas for name, each in partitions.items()}
    plan = move_off(assignment, places_of(described), node_id)
    moves = dict(plan.moves)
    if plan.stuck:
        if not fewer_replicas:
            largest = max(len(assignment[each]) for each in plan.stuck)
            down = [b.node_id for b in described.brokers if b.fenced and b.node_id != node_id]
            cure = f"start node {down[0]}, which is down" if down else "add a node first"
            raise CommandError(
                f"no other node can take {counted(len(plan.stuck), 'partition')} with up to "
                f"{counted(largest, 'replica')}, such as {plan.stuck[0]}; {cure}, or "
                "drop one replica with --fewer-replicas"
            )
        dropped = drop_from(assignment, node_id, plan.stuck)
        if dropped.stuck:
            raise CommandError(
                f"partition {dropped.stuck[0]} is only on node {node_id}, and no other node can "
                "take it; add a node first"
            )
        moves |= dropped.moves
    async with throttled(cluster, moves, assignment, bytes_per_second):
        await carry_out(cluster, moves, f"moving replicas off node {node_id}")
    left = replicas_on(assignment_of(await cluster.refresh(None)), node_id)
    if left:
        raise CommandError(
            f"node {node_id} was assigned new replicas meanwhile, such as {left[0]}; run this again"
        )
    return len(moves)


async def settled_cluster(
    cluster: ClusterClient, awaited: Collection[int] | None = None, leaving: int | None = None
) -> ClusterDescription:
    """The cluster once these nodes, or all but the `leaving` one, are up, or after a while.

    A node on a busy machine, or whose disk was full, may miss its heartbeats for a moment.
    """
    deadline = monotonic() + _NODE_WAIT_S
    while True:
        described = await describe_cluster(cluster)
        down = {broker.node_id for broker in described.brokers if broker.fenced} - {leaving}
        if not (down if awaited is None else down.intersection(awaited)) or monotonic() > deadline:
            return described
        await asyncio.sleep(_LOOK_EVERY_S)


async def _is_down(cluster: ClusterClient, node_id: int) -> bool:
    described = await describe_cluster(cluster)
    return all(broker.fenced for broker in described.brokers if broker.node_id == node_id)


def _known(described: ClusterDescription, node_id: int, hint: str = "") -> BrokerDescription:
    for broker in described.brokers:
        if broker.node_id == node_id:
            return broker
    known = ", ".join(str(broker.node_id) for broker in described.brokers)
    raise CommandError(f"there is no node {node_id}; the cluster has nodes {known}{hint}")

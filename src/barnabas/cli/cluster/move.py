"""`barnabas cluster move`: replicas of named partitions to named nodes."""

from collections.abc import Sequence

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.partition_names import named_partitions
from barnabas.cli.cluster.reassignments import assignment_of, begin, carry_out
from barnabas.cli.cluster.throttle import throttled
from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.admin.reassignments import list_reassignments
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition


async def move_to(
    cluster: ClusterClient,
    names: Sequence[str],
    to: str,
    *,
    wait: bool,
    bytes_per_second: int | None = None,
) -> int:
    """Move partitions to the nodes that `to` lists; returns how many."""
    if not names:
        raise UsageError("nothing to move; name TOPIC or TOPIC:PARTITION")
    nodes = parse_nodes(to)
    partitions = await named_partitions(cluster, names)
    known = {broker.node_id for broker in (await describe_cluster(cluster)).brokers}
    missing = [str(node) for node in nodes if node not in known]
    if missing:
        raise CommandError(
            f"--to {to}: there is no node {', '.join(missing)}; the cluster has "
            f"{', '.join(map(str, sorted(known)))}"
        )
    plan = rotate(partitions, nodes)
    if wait:
        before = assignment_of(await cluster.refresh(None))
        async with throttled(cluster, plan, before, bytes_per_second):
            await carry_out(cluster, plan, "moving")
    else:
        await begin(cluster, plan)
    return len(plan)


async def cancel_moves(cluster: ClusterClient, names: Sequence[str] | None) -> int:
    """Cancel moves, all of them if no partitions are named."""
    under_way = await list_reassignments(cluster)
    if names:
        wanted = set(await named_partitions(cluster, names))
        under_way = {each: move for each, move in under_way.items() if each in wanted}
    if under_way:
        await begin(cluster, dict.fromkeys(under_way, None))
    return len(under_way)


def parse_nodes(text: str) -> list[int]:
    """Read ID,ID,..."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"--to {text!r}: expected node ids such as 1,2,3")
    nodes = [int(part) for part in parts]
    if len(set(nodes)) != len(nodes):
        raise UsageError(f"--to {text}: a node appears twice")
    return nodes


def rotate(
    partitions: Sequence[TopicPartition], nodes: Sequence[int]
) -> dict[TopicPartition, list[int]]:
    """The same nodes for all partitions, each preferred in turn; as given if there is only one."""
    plan = {}
    for number, partition in enumerate(partitions):
        first = number % len(nodes)
        plan[partition] = [*nodes[first:], *nodes[:first]]
    return plan

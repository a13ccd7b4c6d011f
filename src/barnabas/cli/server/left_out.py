"""Nodes of a local cluster that are not started, as `--nodes` is smaller than before."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from barnabas.cli.server.local_nodes import node_name
from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    PartitionMetadata,
    TopicPartition,
    partitions_of,
)
from barnabas.errors import BarnabasError
from barnabas.quantities import agreeing, counted

_GIVE_UP = "barnabas cluster remove-node"


async def warn_of_left_out(directory: Path, numbers: Sequence[int], servers: str | None) -> str:
    """What their absence means. Without `servers`, the cluster can't be asked."""
    known, partitions = None, {}
    if servers is not None:
        try:
            async with ClusterClient(servers, retry_timeout_ms=0) as cluster:
                described = await describe_cluster(cluster)
                known = {broker.node_id for broker in described.brokers}
                partitions = partitions_of(await cluster.refresh(None))
        except BarnabasError:
            known = None
    return left_out(directory, numbers, known, partitions)


def left_out(
    directory: Path,
    numbers: Sequence[int],
    members: Iterable[int] | None,
    partitions: Mapping[TopicPartition, PartitionMetadata],
) -> str:
    """The warning; `members` are the nodes of the cluster, if that is known."""
    if members is not None:
        left = sorted(set(numbers).intersection(members))
        if not left:
            gone = ", ".join(str(directory / node_name(each)) for each in numbers)
            return f"{gone} can be removed: no node of the cluster has its data there any more"
        numbers = left
    nodes = f"node{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
    verb = agreeing(len(numbers), "is", "are")
    commands = " and ".join(f"{_GIVE_UP} {each}" for each in numbers)
    return (
        f"warning: {nodes} {verb} left out{_what_is_there(set(numbers), partitions)}. Start the "
        f"cluster with --nodes {max(numbers)} again; to do without, remove first what is on it "
        f"while it runs: {commands}"
    )


def _what_is_there(
    numbers: set[int], partitions: Mapping[TopicPartition, PartitionMetadata]
) -> str:
    having = [each for each in partitions.values() if numbers.intersection(each.replicas)]
    if not having:
        return ""
    alone = sum(numbers.issuperset(each.replicas) for each in having)
    text = f", with replicas of {counted(len(having), 'partition')}"
    if alone:
        text += f"; {alone:,} of them {agreeing(alone, 'has', 'have')} no other and can't be read"
    return text

"""`barnabas cluster add-node --local DIR`: one more node of a local cluster, while it runs."""

from pathlib import Path

from barnabas.cli.base.client_security import ClientConfig
from barnabas.cli.base.command import Session
from barnabas.cli.base.output import print_json, say
from barnabas.cli.base.supervisor_socket import ask_supervisor
from barnabas.cli.base.voters import MOST_VOTERS
from barnabas.cli.cluster.membership import add_node, settled_cluster, spread_replicas
from barnabas.client.admin.quorum import describe_quorum
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.quantities import counted

ADMINISTRATOR = Path("security", "admin.properties")
"""In the data directory of a local cluster that was started with `--secure`."""


async def add_local_node(
    session: Session, directory: Path, *, vote: bool, rebalance: bool, throttle: int | None
) -> None:
    """Have the supervisor start it, and then give it its share."""
    answer = await ask_supervisor(directory, {"add": 1})
    node_id, servers = answer["node_id"], answer["servers"]
    config = session.config
    administrator = directory / ADMINISTRATOR
    if not config.security_settings and administrator.exists():
        config = ClientConfig(administrator, bootstrap=servers)
    moved = None
    async with Session(servers, session.as_json, config).connect() as cluster:
        await settled_cluster(cluster, {node_id})
        voters = await _let_vote(cluster) if vote else await _voters(cluster)
        if rebalance:
            moved = await spread_replicas(cluster, throttle)
    await ask_supervisor(directory, {"voters": voters})
    if session.as_json:
        print_json({**answer, "voters": voters, "moved_partitions": moved})
        return
    say(
        f"node {node_id} runs at {answer['address']}; {len(voters)} of "
        f"{counted(answer['nodes'], 'node')} vote. From now on start the cluster with --nodes "
        f"{answer['nodes']}"
    )
    if moved is not None:
        say(f"moved {counted(moved, 'partition')}" if moved else "replicas are already balanced")


async def _let_vote(cluster: ClusterClient) -> list[int]:
    """Make all nodes voters if their number is odd: an even one tolerates no more failures."""
    described = await settled_cluster(cluster)
    up = [each.node_id for each in described.brokers if not each.fenced]
    voters = await _voters(cluster)
    if len(up) % 2 and len(voters) < len(up) <= MOST_VOTERS:
        for each in sorted(set(up).difference(voters)):
            await add_node(cluster, each)
        voters = await _voters(cluster)
    return voters


async def _voters(cluster: ClusterClient) -> list[int]:
    quorum = await describe_quorum(cluster)
    return sorted(each.node_id for each in quorum.voters)

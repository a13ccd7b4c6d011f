"""`cluster remove-node` in virtual time: disks are full, or a node is late."""

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from barnabas.cli.cluster.membership import remove_node
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.environment import ClientEnvironment
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.sim.client import Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import PORT, Machine
from barnabas.sim.workloads.administrator import Administrator
from tests.sim.calm_cluster import LONG_US, running

NODES = 4
PATIENCE_US = 90_000_000
TOPIC = "t"
PARTITIONS = 3
EPOCH_MS = 1_700_000_000_000


def real_client(cluster: Cluster, client: Client) -> ClusterClient:
    return ClusterClient(
        [f"{machine.host}:{PORT}" for machine in cluster.machines.values()],
        client_id=client.name,
        environment=ClientEnvironment(client.process.time, client.random.random),
    )


async def write(cluster: Cluster, client: Client) -> None:
    """Until the client is to stop. What is refused for now is sent again, and anything else fails
    the simulation."""
    producer = RecordProducer(real_client(cluster, client), delivery_timeout_ms=1_000_000_000)
    await producer.start()
    for number in count():
        if client.is_stopping:
            return
        now_ms = EPOCH_MS + client.simulator.now_us // 1000
        sent = await producer.send(
            TOPIC, b"v" * 100, partition=number % PARTITIONS, timestamp_ms=now_ms
        )
        sent.add_done_callback(Sent.result)
        await client.pause(20, 50)


def prepared(cluster: Cluster) -> Client:
    """A topic on three of four nodes, which is written to."""
    client = cluster.client("operator")
    administrator = Administrator(client, [*cluster.machines], 3)
    client.run(administrator.create_topic(TOPIC, PARTITIONS, {"min.insync.replicas": "2"}))
    simulator = cluster.simulator
    simulator.run_until_true(lambda: client.is_done, LONG_US, "there is a topic")
    client.run(write(cluster, client))
    simulator.run_until(simulator.now_us + 1_000_000)
    return client


def removed(cluster: Cluster, client: Client, leaving: Machine) -> Callable[[], bool]:
    """Begin to remove a node; it is stopped when it has nothing more."""
    outcome: list[tuple[int, bool]] = []

    async def remove() -> None:
        outcome.append(
            await remove_node(
                real_client(cluster, client), leaving.node_id, fewer_replicas=False, wait=True
            )
        )

    client.run(remove())
    return lambda: bool(outcome)


def has_nothing(cluster: Cluster, node_id: int) -> bool:
    """Whether all others know that the node has neither a replica nor a vote."""
    others = [node for node in cluster.nodes() if node.node_id != node_id]
    return all(
        node_id not in partition.replicas
        for node in others
        for topic in node.image.topics.values()
        for partition in topic.partitions
    ) and all(node_id not in {key.node_id for key in node.quorum.voters.keys} for node in others)


def set_full(machines: list[Machine], is_full: bool) -> None:
    for machine in machines:
        machine.disk.is_full = is_full


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("while_it_runs", [False, True])
def test_a_node_is_removed_although_disks_were_full(seed: int, while_it_runs: bool) -> None:
    """The controller's own, and that of a node which takes replicas over."""
    with running(seed, NODES) as (cluster, controller):
        simulator = cluster.simulator
        client = prepared(cluster)
        others = [each for each in cluster.machines.values() if each is not controller]
        leaving, full = others[seed % 3], [controller, others[(seed + 1) % 3]]
        set_full(full, True)
        if not while_it_runs:
            simulator.run_until(simulator.now_us + 5_000_000)
            set_full(full, False)
        is_removed = removed(cluster, client, leaving)
        if while_it_runs:
            simulator.after(8_000_000, partial(set_full, full, False))
        simulator.run_until_true(
            lambda: has_nothing(cluster, leaving.node_id), PATIENCE_US, "it has nothing more"
        )
        leaving.kill()
        simulator.run_until_true(is_removed, PATIENCE_US, "it is forgotten")
        client.is_stopping = True


def test_a_node_that_comes_back_just_now_takes_replicas_over() -> None:
    """It has missed heartbeats, and without it there would be too few nodes."""
    with running(1, NODES) as (cluster, controller):
        simulator = cluster.simulator
        client = prepared(cluster)
        node = next(node for node in cluster.nodes() if node.node_id == controller.node_id)
        replicas = node.image.topics[TOPIC].partitions[0].replicas
        others = [each for each in cluster.machines.values() if each is not controller]
        late = next(each for each in others if each.node_id not in replicas)
        leaving = next(each for each in others if each.node_id in replicas)
        assert late.process is not None
        late.process.pause()
        brokers = node.image.brokers
        simulator.run_until_true(
            lambda: brokers[late.node_id].fenced, LONG_US, "the late node is fenced"
        )
        is_removed = removed(cluster, client, leaving)
        simulator.after(1_000_000, late.process.resume)
        simulator.run_until_true(
            lambda: has_nothing(cluster, leaving.node_id), PATIENCE_US, "it has nothing more"
        )
        leaving.kill()
        simulator.run_until_true(is_removed, PATIENCE_US, "it is forgotten")
        client.is_stopping = True

"""Each input's output exactly once and in order, while nodes and clients are hurt."""

import contextlib
import signal
import time
from pathlib import Path

import pytest

from barnabas.coordination.coordinator_partition import partition_of
from tests.cluster.conftest import SESSION_S
from tests.cluster.exactly_once import EXACT, STATE, STATE_PARTITIONS, exactly_once
from tests.cluster.faults import cut_off, frozen, killed
from tests.cluster.pipelines import PARTITIONS, SOURCE
from tests.foreign_clients import aio
from tests.foreign_clients.conftest import CLIENTS
from tests.foreign_clients.face import Client, Fenced, Producer
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.network import Network
from tests.support.wait import wait_until


def coordinator_of(cluster: ClusterProcesses, transactional_id: str) -> NodeProcess:
    return cluster.leader_of(STATE, partition_of(transactional_id, STATE_PARTITIONS))


def test_nodes_are_killed_and_frozen(tmp_path: Path, resources: contextlib.ExitStack) -> None:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, EXACT))
    with exactly_once(cluster, tmp_path) as running:
        with killed(cluster, coordinator_of(cluster, "confluent-a")):
            running.wait_for_progress()
        cluster.wait_until_whole()
        with frozen(coordinator_of(cluster, "aiokafka-a")):
            time.sleep(SESSION_S)
            running.wait_for_progress()
        cluster.wait_until_whole()
        with killed(cluster, *cluster.nodes.values()):
            pass


@pytest.mark.long
def test_nodes_are_cut_off(
    tmp_path: Path,
    network: Network,
    resources: contextlib.ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aio, "_loop", None)  # a thread stays on the host on which it was started
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, EXACT, network))
    with exactly_once(cluster, tmp_path) as running:
        with cut_off(cluster, coordinator_of(cluster, "confluent-b")):
            time.sleep(SESSION_S)
            running.wait_for_progress()
        cluster.wait_until_whole()
        with cut_off(cluster, cluster.leader_of(SOURCE), clients_too=True):
            time.sleep(SESSION_S)
            running.wait_for_progress()


def test_clients_are_killed_and_frozen(tmp_path: Path, resources: contextlib.ExitStack) -> None:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, EXACT))
    with exactly_once(cluster, tmp_path) as running:
        for _ in range(2):
            for transformer in running.transformers.values():
                transformer.process.kill()
            running.wait_for_progress()
        for transformer in running.transformers.values():
            transformer.process.send_signal(signal.SIGSTOP)
            transformer.replace()
        running.wait_for_progress()
        zombies = [t.replaced[0] for t in running.transformers.values()]
        for zombie in zombies:
            zombie.send_signal(signal.SIGCONT)
        wait_until(lambda: all(z.poll() is not None for z in zombies), "a zombie is at large")
        # Fenced, as a rule. One that was frozen while it asked gives up for lack of an answer.
        assert 0 not in [zombie.returncode for zombie in zombies]


def test_a_zombie_is_fenced_by_the_next_coordinator(
    tmp_path: Path, resources: contextlib.ExitStack
) -> None:
    """The one that knew it is gone; what it wrote down is enough."""
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, EXACT))
    cluster.create_topic(SOURCE, PARTITIONS, 3)

    def open_producer(client: Client) -> Producer:
        producer = client.producer(
            cluster.bootstrap, transactional_id=ids[client.name], request_timeout_ms=3_000
        )
        return resources.enter_context(producer)

    def begin(producer: Producer, value: bytes) -> None:
        producer.begin()
        for partition in range(PARTITIONS):
            producer.send(SOURCE, value, partition=partition)
        producer.flush()

    # All with one coordinator.
    names = [f"id-{number}" for number in range(20)]
    names = [name for name in names if partition_of(name, STATE_PARTITIONS) == 0]
    ids = dict(zip([client.name for client in CLIENTS], names, strict=False))
    zombies = [open_producer(client) for client in CLIENTS]
    for zombie in zombies:
        begin(zombie, b"zombie")
    with killed(cluster, coordinator_of(cluster, names[0])):
        for client in CLIENTS:
            heir = open_producer(client)
            begin(heir, client.name.encode())
            heir.commit()
    cluster.wait_until_whole()
    for zombie in zombies:
        with pytest.raises(Fenced):
            zombie.commit()
    for client in CLIENTS:
        with client.consumer(cluster.bootstrap, isolation="read_committed") as consumer:
            consumer.assign(SOURCE, dict.fromkeys(range(PARTITIONS), 0))
            records = consumer.read(len(CLIENTS) * PARTITIONS)
        for partition in range(PARTITIONS):
            values = [r.value for r in records if r.partition == partition]
            assert values == [client.name.encode() for client in CLIENTS]

"""A disk that fills under a leader: other nodes lead, and clients only notice retries.

The kernel's limit on the size of a file stands in for the full disk.
"""

import pytest
from confluent_kafka import Producer

from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.broker.replica.test_full_disk import no_room
from tests.cli.conftest import Cli
from tests.cluster.conftest import TOPIC
from tests.cluster.test_damage import commit, committed
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

IDLE = "idle"


def leaders(cluster: ClusterProcesses, topic: str) -> set[int]:
    return {state.leader for state in cluster.partitions(topic).values()}


def send(cluster: ClusterProcesses, partition: int, value: bytes) -> None:
    """With acks=all, and the retries of an ordinary producer."""
    failures = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(
        TOPIC,
        value,
        partition=partition,
        on_delivery=lambda error, _: failures.append(error) if error else None,
    )
    assert producer.flush(LIMIT_S) == 0
    assert not failures


def in_order(cluster: ClusterProcesses) -> tuple[NodeProcess, NodeProcess, NodeProcess]:
    """The leader of the topic, a node that is neither that nor the controller, and the third."""
    leader, controller = cluster.leader_of(TOPIC), cluster.controller()
    second = next(n for n in cluster.nodes.values() if n is not leader and n is not controller)
    third = next(n for n in cluster.nodes.values() if n is not leader and n is not second)
    return leader, second, third


def move(cluster: ClusterProcesses, replicas: list[int]) -> None:
    """Take the only partition of the topic off its leader."""
    topic = ReassignableTopic(TOPIC, [ReassignablePartition(0, replicas)])
    request = AlterPartitionReassignmentsRequest(topics=[topic])
    (result,) = cluster.controller().ask(request).responses[0].partitions
    assert result.error_code == 0


@pytest.mark.parametrize("is_controller", [False, pytest.param(True, marks=pytest.mark.long)])
def test_others_lead_and_it_returns_when_there_is_room(
    cluster: ClusterProcesses, is_controller: bool
) -> None:
    cluster.create_topic(TOPIC, 3)
    cluster.create_topic(IDLE, 3)
    for partition in range(3):
        send(cluster, partition, b"before")
    commit(cluster, 7)
    cluster.wait_until_in_sync()
    assert leaders(cluster, TOPIC) == {1, 2, 3}
    controller = cluster.controller()
    full = next(n for n in cluster.nodes.values() if (n is controller) == is_controller)
    with no_room(full):
        for partition in range(3):
            send(cluster, partition, b"meanwhile")
        others = {1, 2, 3} - {full.node_id}
        wait_until(lambda: leaders(cluster, TOPIC) <= others, "it still leads")
        # It learns no decisions, and so gives up what no client writes to as well.
        wait_until(lambda: leaders(cluster, IDLE) <= others, "it still leads an idle topic")
        assert cluster.controller() is not full
        doctor = Cli(cluster.bootstrap).run("cluster", "doctor")
        assert doctor.returncode == 1
        assert b"has failed (KAFKA_STORAGE_ERROR)" in doctor.stdout
        assert committed(cluster) == 7
    cluster.wait_until_whole()
    for partition in range(3):
        send(cluster, partition, b"after")
    assert committed(cluster) == 7


def test_a_leader_that_does_not_know_that_it_leads(cluster: ClusterProcesses) -> None:
    """Nothing has happened since its disk became full, so it is elected, and learns nothing."""
    cluster.create_topic(TOPIC, 1, 3, min_insync_replicas="1")
    send(cluster, 0, b"before")
    cluster.wait_until_in_sync()
    _, unlucky, other = in_order(cluster)
    with no_room(unlucky):
        move(cluster, [unlucky.node_id, other.node_id])
        send(cluster, 0, b"meanwhile")
        state = cluster.partitions(TOPIC)[TOPIC, 0]
        assert (state.leader, state.leader_epoch) == (other.node_id, 2)
    cluster.wait_until_whole()
    send(cluster, 0, b"after")

"""Every fault does what it says, and can be undone."""

import socket

import pytest
from confluent_kafka import KafkaException, Message, Producer

from barnabas.embedded.cluster import Cluster, ClusterError
from tests.support.wait import LIMIT_S, wait_until

pytestmark = pytest.mark.barnabas(nodes=3, network=True)


def test_kill_and_restart(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    leader = barnabas_cluster.leader_of(barnabas_topic)
    pid = barnabas_cluster.pid_of(leader)
    barnabas_cluster.kill(leader)
    assert leader not in barnabas_cluster.running
    assert barnabas_cluster.pid_of(leader) is None
    assert barnabas_cluster.is_hurt
    assert f"{leader}: down" in repr(barnabas_cluster)
    assert barnabas_cluster.leader_of(barnabas_topic) != leader
    with pytest.raises(ClusterError, match=r"undo them with .*repair"):
        barnabas_cluster.wait_until_healed()
    barnabas_cluster.restart()
    barnabas_cluster.wait_until_healed()
    assert barnabas_cluster.pid_of(leader) not in (None, pid)
    assert leader in barnabas_cluster.partitions_of(barnabas_topic)[0].isr


def test_all_killed_keep_what_they_had(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    produce(barnabas_cluster, barnabas_topic, b"kept")
    barnabas_cluster.kill(1, 2, 3)
    barnabas_cluster.restart(1)  # which can't be ready: it has no majority
    assert barnabas_cluster.running == (1,)
    barnabas_cluster.restart(2)
    assert barnabas_cluster.leader_of(barnabas_topic) in (1, 2)
    assert produce(barnabas_cluster, barnabas_topic, b"more").offset() == 1


def test_stop_and_restart_in_order(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    leader = barnabas_cluster.leader_of(barnabas_topic)
    barnabas_cluster.stop(leader)
    _logs(barnabas_cluster, leader, "Barnabas is stopping")
    assert barnabas_cluster.leader_of(barnabas_topic) != leader
    barnabas_cluster.restart(leader)
    assert barnabas_cluster.running == (1, 2, 3)


def test_a_restart_of_what_runs(barnabas_cluster: Cluster) -> None:
    pid, address = barnabas_cluster.pid_of(2), barnabas_cluster.address_of(2)
    barnabas_cluster.restart(2)
    assert barnabas_cluster.pid_of(2) not in (None, pid)
    assert barnabas_cluster.address_of(2) == address


def test_pause_and_resume(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    leader = barnabas_cluster.leader_of(barnabas_topic)
    barnabas_cluster.pause(leader)
    assert leader not in barnabas_cluster.running
    assert f"{leader}: paused" in repr(barnabas_cluster)
    assert barnabas_cluster.leader_of(barnabas_topic) != leader
    barnabas_cluster.resume(leader)
    assert barnabas_cluster.running == (1, 2, 3)
    barnabas_cluster.wait_until_healed()


def test_who_is_down_can_not_be_paused(barnabas_cluster: Cluster) -> None:
    barnabas_cluster.kill(3)
    with pytest.raises(ClusterError, match=r"node 3 is down; call restart\(3\) first"):
        barnabas_cluster.pause(3)


def test_isolate_and_heal(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    leader = barnabas_cluster.leader_of(barnabas_topic)
    assert answers(barnabas_cluster, leader)
    barnabas_cluster.isolate(leader)
    assert f"no link between clients and {leader}" in repr(barnabas_cluster)
    assert not answers(barnabas_cluster, leader, within_s=0.5)
    successor = barnabas_cluster.leader_of(barnabas_topic)
    assert successor != leader
    assert answers(barnabas_cluster, successor)
    barnabas_cluster.create_topic(f"{barnabas_topic}-meanwhile", replication_factor=2)
    barnabas_cluster.heal()
    barnabas_cluster.wait_until_healed()
    assert answers(barnabas_cluster, leader)


def test_isolated_from_nodes_and_not_from_clients(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    leader = barnabas_cluster.leader_of(barnabas_topic)
    barnabas_cluster.isolate(leader, from_clients=False)
    assert answers(barnabas_cluster, leader)
    assert barnabas_cluster.leader_of(barnabas_topic) != leader
    barnabas_cluster.heal(leader)
    assert not barnabas_cluster.is_hurt


def test_full_disk(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    produce(barnabas_cluster, barnabas_topic, b"before")
    leader = barnabas_cluster.leader_of(barnabas_topic)
    barnabas_cluster.fill_disk(leader)
    assert "disk full" in repr(barnabas_cluster)
    with pytest.raises(KafkaException):
        produce(barnabas_cluster, barnabas_topic, b"refused", retries=0)
    _logs(barnabas_cluster, leader, "File too large")  # its log is on another disk
    barnabas_cluster.free_disk()
    # Leadership may move while it is sent: only an idempotent producer then stores it once.
    after = produce(barnabas_cluster, barnabas_topic, b"after", **{"enable.idempotence": True})
    assert after.offset() == 1
    assert not barnabas_cluster.is_hurt


def test_a_disk_stays_full_across_a_restart(barnabas_cluster: Cluster, barnabas_topic: str) -> None:
    barnabas_cluster.kill(1)
    barnabas_cluster.fill_disk(1)
    barnabas_cluster.restart(1)
    assert barnabas_cluster.is_hurt
    barnabas_cluster.kill(2, 3)
    barnabas_cluster.repair()
    assert not barnabas_cluster.is_hurt
    assert produce(barnabas_cluster, barnabas_topic, b"well again").offset() == 0


@pytest.mark.barnabas(network=False)
def test_isolate_without_a_network(barnabas_cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="network=True"):
        barnabas_cluster.isolate(1)
    barnabas_cluster.heal()


def produce(cluster: Cluster, topic: str, value: bytes, **settings: object) -> Message:
    """Raises KafkaException."""
    reports: list[tuple[object, Message]] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
    producer.produce(topic, value, on_delivery=lambda *report: reports.append(report))
    assert producer.flush(LIMIT_S) == 0
    del producer  # a traceback would keep it, and it would look for its brokers for ever
    (error, message), *_ = reports
    if error is not None:
        raise KafkaException(error)
    return message


def answers(cluster: Cluster, node: int, within_s: float = 60) -> bool:
    """Whether a client gets an answer from it. The question is ApiVersions 0."""
    host, port = cluster.address_of(node).split(":")
    with socket.create_connection((host, int(port)), 60) as connection:
        connection.sendall(bytes.fromhex("0000000d 0012 0000 00000001 0003") + b"app")
        connection.settimeout(within_s)
        try:
            return bool(connection.recv(4))
        except TimeoutError:
            return False


def _logs(cluster: Cluster, node: int, text: str) -> None:
    """What a node says goes through a pipe, and takes its time."""
    wait_until(lambda: text in cluster.log_of(node), f"node {node} did not say {text!r}")

"""Nodes that are killed with `kill -9`."""

import time

from tests.cluster.conftest import TOPIC, hurt
from tests.cluster.faults import killed
from tests.support.cluster import ClusterProcesses


def test_leaders_in_a_row(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        for partition in (0, 1, 2):
            with killed(cluster, cluster.leader_of(TOPIC, partition)):
                workload.wait_for_progress()
            cluster.wait_until_whole()


def test_the_controller(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        for _ in range(2):
            with killed(cluster, cluster.controller()):
                workload.wait_for_progress()
            cluster.wait_until_whole()


def test_all_at_once(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        for _ in range(2):
            with killed(cluster, *cluster.nodes.values()):
                pass
            workload.wait_for_progress()


def test_two_of_three(cluster: ClusterProcesses) -> None:
    """Nothing may be acknowledged meanwhile: one replica is fewer than `min.insync.replicas`."""
    with hurt(cluster) as workload:
        leader = cluster.leader_of(TOPIC)
        others = [node for node in cluster.nodes.values() if node is not leader]
        with killed(cluster, *others):
            began = time.monotonic()
            time.sleep(3)
            assert workload.acked_since(began) == []
        workload.wait_for_progress()

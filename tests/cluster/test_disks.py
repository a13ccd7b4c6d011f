"""Disks that are full, and disks that come back empty."""

import time

from tests.cluster.conftest import TOPIC, hurt
from tests.cluster.faults import full, wiped
from tests.support.cluster import ClusterProcesses, SmallDisk


def test_a_full_follower(disks: dict[int, SmallDisk], cluster: ClusterProcesses) -> None:
    with hurt(cluster, partitions=1) as workload:
        leader = cluster.leader_of(TOPIC)
        follower = next(i for i in cluster.nodes if i != leader.node_id)
        with full(disks[follower]):
            time.sleep(5)
            workload.wait_for_progress()
        cluster.start()
        cluster.wait_until_whole()


def test_a_full_leader(disks: dict[int, SmallDisk], cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        leader = cluster.leader_of(TOPIC)
        with full(disks[leader.node_id]):
            time.sleep(5)
        cluster.start()
        workload.wait_for_progress()
        cluster.wait_until_whole()


def test_a_wiped_follower(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        leader = cluster.leader_of(TOPIC)
        follower = next(node for node in cluster.nodes.values() if node is not leader)
        with wiped(cluster, follower):
            workload.wait_for_progress()
        cluster.wait_until_whole()


def test_wiped_leaders_one_after_the_other(cluster: ClusterProcesses) -> None:
    """In the end no node has the disk that it began with, and nothing is lost."""
    with hurt(cluster) as workload:
        for node in cluster.nodes.values():
            with wiped(cluster, node):
                pass
            workload.wait_for_progress()
            cluster.wait_until_whole()

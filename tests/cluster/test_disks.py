"""Disks that are full, and disks that come back empty."""

import time

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.cluster.conftest import TOPIC, hurt
from tests.cluster.faults import full, wiped
from tests.cluster.test_failing_disks import in_order, move, send
from tests.support.cluster import ClusterProcesses, NodeProcess, SmallDisk
from tests.support.wait import wait_until

HEARTBEAT_S = 0.5


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


def test_a_full_replica_is_not_elected(
    disks: dict[int, SmallDisk], cluster: ClusterProcesses
) -> None:
    """It could not learn that it leads."""
    cluster.create_topic(TOPIC, 1, 3, min_insync_replicas="1")
    _, unlucky, other = in_order(cluster)
    with full(disks[unlucky.node_id]):
        wait_until(lambda: _has_created_large(other), "the other nodes do not agree")
        time.sleep(3 * HEARTBEAT_S)
        move(cluster, [unlucky.node_id, other.node_id])
        send(cluster, 0, b"meanwhile")
        assert cluster.partitions(TOPIC)[TOPIC, 0].leader == other.node_id
    cluster.wait_until_whole()
    send(cluster, 0, b"after")


def _has_created_large(node: NodeProcess) -> bool:
    """A topic whose records the full disk has no room for."""
    large = CreateTopicsRequest([CreatableTopic("large", 200, 1)], 10_000)
    try:
        (result,) = node.ask(large).topics
    except OSError:
        return False
    return result.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


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

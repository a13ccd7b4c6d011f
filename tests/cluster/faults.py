"""What can happen to a node, as context managers: it is hurt inside, and mended at the end."""

import contextlib
import time
from collections.abc import Iterator

from tests.support.cluster import ClusterProcesses, NodeProcess, SmallDisk
from tests.support.network import CLIENTS, Network


@contextlib.contextmanager
def killed(cluster: ClusterProcesses, *nodes: NodeProcess) -> Iterator[None]:
    """`kill -9`, all at once, and started again."""
    for node in nodes:
        node.kill()
    yield
    cluster.start()


@contextlib.contextmanager
def wiped(cluster: ClusterProcesses, node: NodeProcess) -> Iterator[None]:
    """`kill -9`, and started again on an empty disk."""
    with killed(cluster, node):
        node.wipe()
        yield


@contextlib.contextmanager
def frozen(node: NodeProcess) -> Iterator[None]:
    """SIGSTOP: to others it is silent, while its connections stay open."""
    node.freeze()
    try:
        yield
    finally:
        node.thaw()


@contextlib.contextmanager
def cut_off(
    cluster: ClusterProcesses,
    node: NodeProcess,
    *,
    to_others: bool = True,
    from_others: bool = True,
    clients_too: bool = False,
) -> Iterator[None]:
    """What it sends to the other nodes is lost, or what they send to it, or both."""
    network = _network(cluster)
    hosts = [other for other in cluster.nodes if other != node.node_id]
    for host in [*hosts, CLIENTS] if clients_too else hosts:
        if to_others:
            network.cut(node.node_id, host)
        if from_others:
            network.cut(host, node.node_id)
    try:
        yield
    finally:
        network.heal()


@contextlib.contextmanager
def cut_between(cluster: ClusterProcesses, one: NodeProcess, other: NodeProcess) -> Iterator[None]:
    """Two nodes don't hear each other; everybody else hears both."""
    network = _network(cluster)
    network.cut_both_ways(one.node_id, other.node_id)
    try:
        yield
    finally:
        network.heal()


@contextlib.contextmanager
def full(disk: SmallDisk) -> Iterator[None]:
    """Not a byte is left on its disk."""
    disk.fill()
    try:
        yield
    finally:
        disk.make_room()


def roll(cluster: ClusterProcesses, pause_s: float = 0.5) -> None:
    """Restart all nodes in order, each when the one before is back in sync."""
    for node in cluster.nodes.values():
        node.restart()
        cluster.wait_until_whole()
        time.sleep(pause_s)


def _network(cluster: ClusterProcesses) -> Network:
    assert cluster.network is not None, "cuts need a network"
    return cluster.network

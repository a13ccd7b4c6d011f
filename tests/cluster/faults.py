"""What can happen to a node, as context managers: it is hurt inside, and mended at the end."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

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
def lost_directory(
    cluster: ClusterProcesses, node: NodeProcess, topic: str, random: Random
) -> Iterator[None]:
    """All are killed, and one directory of a partition is gone when they are started again."""
    with killed(cluster, *cluster.nodes.values()):
        directories = sorted(node.data.glob(f"{topic}-[0-9]"))
        if directories:
            shutil.rmtree(random.choice(directories))
        yield


@contextlib.contextmanager
def shortened(
    cluster: ClusterProcesses, node: NodeProcess, topic: str, random: Random
) -> Iterator[None]:
    """All are killed, and the last segment of a partition has lost a part of its end."""
    with killed(cluster, *cluster.nodes.values()):
        place = _place(node, topic, random)
        if place is not None:
            os.truncate(*place)
        yield


@contextlib.contextmanager
def rotten(
    cluster: ClusterProcesses, node: NodeProcess, topic: str, random: Random
) -> Iterator[None]:
    """All are killed, and a byte of a partition's log has changed."""
    with killed(cluster, *cluster.nodes.values()):
        place = _place(node, topic, random)
        if place is not None:
            path, at = place
            with path.open("r+b") as file:
                file.seek(at)
                (byte,) = file.read(1)
                file.seek(at)
                file.write(bytes([byte ^ (1 << random.randrange(8))]))
        yield


_NOT_WRITTEN_DOWN_BYTES = 60_000
"""More than is written in the time until the high watermark is written down. What a replica lacks
that can't be detected; see `replica.high.watermark.checkpoint.interval.ms`."""


def _place(node: NodeProcess, topic: str, random: Random) -> tuple[Path, int] | None:
    """A segment of the topic, and a position in it that was acknowledged for sure."""
    sizes = {path: path.stat().st_size for path in node.data.glob(f"{topic}-[0-9]/*.log")}
    large = sorted(path for path, size in sizes.items() if size > _NOT_WRITTEN_DOWN_BYTES)
    if not large:
        return None
    path = random.choice(large)
    return path, random.randrange(sizes[path] - _NOT_WRITTEN_DOWN_BYTES)


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
    """Two nodes don't hear each other; all others hear both."""
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

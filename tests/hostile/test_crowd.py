"""A crowd of clients takes every connection there is: nodes find each other all the same."""

import socket
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

import barnabas
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

MAX_CONNECTIONS = 20
SETTINGS = {"offsets.topic.num.partitions": "1", "auto.leader.rebalance.enable": "false"}


class Crowd:
    """Connects to all nodes again and again, and lets none of its connections go by itself."""

    def __init__(self, nodes: list[NodeProcess], size: int = 300) -> None:
        self._nodes = nodes
        self._open: deque[socket.socket] = deque(maxlen=size)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._push)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for each in self._open:
            each.close()

    def _push(self) -> None:
        while not self._stop.wait(0.005):
            for node in self._nodes:
                with suppress(OSError):
                    self._open.append(socket.create_connection((node.host, node.port), 1))


def is_full(node: NodeProcess) -> bool:
    """Whether an ordinary client is sent away."""
    with RawClient(node.host, node.port, timeout_s=LIMIT_S) as client:
        try:
            client.ask(ApiVersionsRequest("one", "more"))
        except (OSError, EOFError):
            return True
    return False


@pytest.mark.parametrize("limit", ["max.connections", "max.connections.per.ip"])
@pytest.mark.long
def test_a_node_that_was_killed_comes_back_through_a_crowd(tmp_path: Path, limit: str) -> None:
    settings = SETTINGS | {limit: str(MAX_CONNECTIONS)}
    with ClusterProcesses(tmp_path, 3, settings) as cluster:
        cluster.create_topic("orders", 3, 3, min_insync_replicas="2")
        with barnabas.Producer(cluster.bootstrap) as producer:
            for number in range(30):
                producer.send("orders", b"%d" % number)
            producer.flush()
        nodes = list(cluster.nodes.values())
        with Crowd(nodes):
            wait_until(lambda: all(map(is_full, nodes)), "the crowd is too small")
            cluster[2].kill()
            cluster[2].launch()
            wait_until(lambda: is_in_service(cluster[2]), "node 2 did not get through")
        cluster.wait_until_whole()


def is_in_service(node: NodeProcess) -> bool:
    """Whether it has been let in once more."""
    return node.log.read_text().count("the controller has unfenced this node") == 2

"""Nodes of a local cluster that are not started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.cli.server.left_out import left_out
from barnabas.client.connect.cluster_metadata import PartitionMetadata, TopicPartition
from tests.cli.conftest import Cli
from tests.support.supervised import Supervised

DIRECTORY = Path("data")


def on(*nodes: int) -> PartitionMetadata:
    return PartitionMetadata(0, nodes[0], 0, list(nodes), list(nodes), [])


def test_replicas_on_it_are_counted() -> None:
    partitions = {
        TopicPartition("t", 0): on(1, 2, 3),
        TopicPartition("t", 1): on(2, 3, 4),
        TopicPartition("t", 2): on(4),
    }
    said = left_out(DIRECTORY, [4], {1, 2, 3, 4}, partitions)
    assert said.startswith(
        "warning: node 4 is left out, with replicas of 2 partitions; 1 of them has no other and "
        "can't be read. Start the cluster with --nodes 4 again"
    )
    assert said.endswith("barnabas cluster remove-node 4")


def test_a_node_that_was_removed_leaves_a_directory() -> None:
    said = left_out(DIRECTORY, [4], {1, 2, 3}, {})
    assert said == "data/node-4 can be removed: no node of the cluster has its data there any more"


def test_members_may_be_unknown() -> None:
    said = left_out(DIRECTORY, [4, 5], None, {})
    assert said.startswith("warning: nodes 4, 5 are left out. Start the cluster with --nodes 5")
    assert said.endswith("barnabas cluster remove-node 4 and barnabas cluster remove-node 5")


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    running: list[Supervised] = []
    yield running
    for each in running:
        each.kill()


def test_it_is_said_when_the_cluster_is_ready(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "2")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    assert "1 of 2 nodes votes (number 1)" in cluster.output
    cli.ok("topics", "create", "t", "--partitions", "4", "--replication-factor", "1")
    cluster.process.terminate()
    assert cluster.end() == 0
    again = Supervised(tmp_path, "--nodes", "1")
    supervised.append(again)
    again.wait_for("warning: node 2 is left out, with replicas of 2 partitions; 2 of them have")
    assert again.output.index("bootstrap servers") < again.output.index("left out")

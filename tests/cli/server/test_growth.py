"""Nodes that are added to a local cluster while it runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.supervised import Supervised


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    running: list[Supervised] = []
    yield running
    for each in running:
        each.kill()


def test_nodes_are_added_to_a_secured_cluster_that_runs(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1", "--secure")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    first = cluster.nodes()[1].pid
    add = ("cluster", "add-node", "--local", str(cluster.data))

    second = cli.json(*add)
    assert (second["node_id"], second["nodes"], second["voters"]) == (2, 2, [1])
    third = cli.json(*add, "--rebalance")
    assert (third["node_id"], third["nodes"], third["voters"]) == (3, 3, [1, 2, 3])
    fourth = cli.json(*add)
    assert (fourth["node_id"], fourth["voters"]) == (4, [1, 2, 3]), "four tolerate no more failures"
    assert cluster.nodes().keys() == {1, 2, 3, 4}
    assert cluster.nodes()[1].pid == first, "nothing was restarted"

    admin = ("--command-config", str(cluster.data / "security" / "admin.properties"))
    Cli(fourth["servers"]).ok("topics", "create", "t", "--replication-factor", "4", *admin)
    cluster.process.terminate()
    assert cluster.end() == 0
    assert not list(cluster.data.glob("*.sock"))

    again = Supervised(tmp_path, "--nodes", "4", "--secure")
    supervised.append(again)
    cli = Cli(again.ready())
    status = cli.json("cluster", "status", "--wait", "120", *admin)
    assert [each["node"] for each in status["quorum"]["voters"]] == [1, 2, 3]
    folder = str(cluster.data / "security")
    said = cli.fails(1, "security", "add-node", folder, "--node", "4=localhost")
    assert f"barnabas cluster add-node --local {cluster.data}" in said


def test_a_directory_without_a_running_cluster_is_refused(tmp_path: Path) -> None:
    said = Cli("localhost:1").fails(1, "cluster", "add-node", "--local", str(tmp_path))
    assert f"no local cluster runs with its data in {tmp_path}" in said
    said = Cli("localhost:1").fails(2, "cluster", "add-node")
    assert "--local DIR" in said

"""`barnabas cluster`: a fourth node joins three, and leaves."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cluster.reports import partitions, status
from tests.cli.conftest import Cli
from tests.support import fork_server
from tests.support.supervised import Supervised
from tests.support.wait import LIMIT_S, wait_until


def roles(cli: Cli) -> dict[int, str]:
    return {node["node"]: node["role"] for node in status(cli)["nodes"]}


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Supervised]:
    data = tmp_path / "cluster"
    data.mkdir()
    cluster = Supervised(data, "--nodes", "3")
    yield cluster
    cluster.kill()


@pytest.mark.long
def test_a_node_joins_and_leaves(nodes: Supervised, name: str, tmp_path: Path) -> None:
    cli = Cli(nodes.ready())
    cli.ok("topics", "create", name, "--partitions", "8")
    assert "there is no node 4" in cli.fails(1, "cluster", "add-node", "4")
    voters = ",".join(f"{n}@{at}" for n, at in enumerate(cli.bootstrap.split(","), 1))
    process = fork_server.Popen(
        [
            *(sys.executable, "-m", "barnabas", "server", "--id", "4", "--voters", voters),
            *("--listen", "127.0.0.1:0", "--data", str(tmp_path / "node-4")),
            *("--set", f"cluster.secret.file={nodes.data / 'cluster.secret'}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        assert b"is ready on" in process.stdout.readline()
        wait_until(lambda: roles(cli).get(4) == "observer", lambda: f"roles: {roles(cli)}")
        joined = cli.json("cluster", "add-node", "4", "--rebalance")
        assert joined["votes"]
        assert joined["moved_partitions"] > 0
        wait_until(lambda: status(cli)["healthy"], lambda: f"not healthy: {status(cli)}")
        found = status(cli)
        assert [voter["node"] for voter in found["quorum"]["voters"]] == [1, 2, 3, 4]
        counts = [node["replicas"] for node in found["nodes"]]
        assert max(counts) - min(counts) <= 1

        leaving = cli.start("cluster", "remove-node", "4")
        assert leaving.stderr is not None
        assert b"stop it now" in leaving.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
        assert b"from the cluster" in leaving.communicate(timeout=LIMIT_S)[1]
        assert leaving.returncode == 0
    finally:
        process.kill()
        process.communicate()
        cli.end()
    wait_until(lambda: status(cli)["healthy"], lambda: f"not healthy: {status(cli)}")
    found = status(cli)
    assert [node["node"] for node in found["nodes"]] == [1, 2, 3]
    assert [voter["node"] for voter in found["quorum"]["voters"]] == [1, 2, 3]
    assert {node for row in partitions(cli, name) for node in row["replicas"]} == {1, 2, 3}

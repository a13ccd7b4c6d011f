"""`barnabas server --nodes`: real nodes under a real supervisor, which is killed as well."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from barnabas.cli.server.local_nodes import plan_nodes
from tests.cli.conftest import Cli
from tests.support.supervised import Supervised
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[list[Supervised]]:
    """Whatever a test puts in is ended with all its nodes."""
    running: list[Supervised] = []
    yield running
    for each in running:
        each.kill()


def test_a_node_that_is_killed_is_started_again(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    cli.ok("topics", "create", "t")
    cli.ok("produce", "t", stdin="kept\n")
    first = cluster.nodes()[1]
    first.kill()
    cluster.wait_for(r"node-1 was killed by SIGKILL; restarting it in 0.5 s")
    cluster.wait_for(r"node-1 \| .* is ready on ", times=2)
    assert cluster.nodes()[1].pid != first.pid
    assert cli.ok("consume", "t", "--no-follow") == "kept\n"
    cluster.process.send_signal(signal.SIGINT)
    assert cluster.end() == 0
    assert "node-1 | Barnabas is stopping" in cluster.output


def test_nodes_do_not_outlive_a_supervisor_that_is_killed(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cluster.ready()
    nodes = list(cluster.nodes().values())
    assert len(nodes) == 1
    cluster.process.kill()
    cluster.process.wait()
    _, alive = psutil.wait_procs(nodes, timeout=LIMIT_S)
    assert not alive


def test_a_port_in_use_is_told_before_anything_is_started_or_written(tmp_path: Path) -> None:
    (free,) = plan_nodes({"listeners": "127.0.0.1:0"}, 1)
    port = free.address.port
    with socket.create_server(("127.0.0.1", port)):
        cluster = Supervised(tmp_path, "--listen", f"127.0.0.1:{port - 1}", "--nodes", "2")
        assert cluster.end() == 2
    # Another process may have the port before it.
    expected = [
        f"error: can't listen on 127.0.0.1:{each}: the port is" for each in (port, port - 1)
    ]
    assert cluster.output.startswith(tuple(expected))
    assert cluster.output.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_node_that_can_not_start_ends_it_all(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "node-1").write_text("not a directory")
    cluster = Supervised(tmp_path, "--nodes", "1")
    assert cluster.end() != 0
    assert "node-1 | error: " in cluster.output
    assert "Traceback" not in cluster.output


@pytest.mark.long
def test_the_second_interrupt_kills(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cluster.ready()
    cluster.nodes()[1].suspend()  # it would never stop by itself
    cluster.process.send_signal(signal.SIGINT)
    cluster.wait_for("stopping the nodes one by one")
    cluster.process.send_signal(signal.SIGINT)
    assert cluster.end() == 130


def test_it_can_be_stopped_while_it_starts(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    wait_until(lambda: cluster.nodes(), "no node has been started")
    cluster.process.send_signal(signal.SIGTERM)
    assert cluster.end() == 0
    assert "Traceback" not in cluster.output


@pytest.mark.long
def test_three_nodes_form_a_cluster_and_stop_one_after_the_other(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "3")
    supervised.append(cluster)
    bootstrap = cluster.ready()
    assert bootstrap.count(",") == 2
    assert cluster.nodes().keys() == {1, 2, 3}
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == [
        "cluster.secret",
        "node-1",
        "node-2",
        "node-3",
        "supervisor.sock",
    ]
    cli = Cli(bootstrap)
    cli.ok("topics", "create", "t")
    cli.ok("produce", "t", stdin="kept\n")
    cluster.process.send_signal(signal.SIGTERM)
    assert cluster.end() == 0
    stops = re.findall(r"(node-\d) \| Barnabas is stopping", cluster.output)
    assert stops == ["node-3", "node-2", "node-1"]
    assert "ERROR" not in cluster.output
    assert "Traceback" not in cluster.output

    again = Supervised(tmp_path, "--nodes", "3")
    supervised.append(again)
    assert Cli(again.ready()).ok("consume", "t", "--no-follow") == "kept\n"


@pytest.mark.long
def test_no_node_of_three_outlives_a_supervisor_that_is_killed(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "3")
    supervised.append(cluster)
    cluster.ready()
    nodes = list(cluster.nodes().values())
    assert len(nodes) == 3
    cluster.process.kill()
    cluster.process.wait()
    _, alive = psutil.wait_procs(nodes, timeout=LIMIT_S)
    assert not alive

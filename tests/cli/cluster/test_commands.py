"""`barnabas cluster` with three real nodes."""

import asyncio
import random
import signal
import time
from collections.abc import Iterator

import pytest

from barnabas import Admin, Producer
from barnabas.client.admin.quorum import describe_quorum
from barnabas.client.connect.cluster_client import ClusterClient
from tests.cli.cluster.reports import leaders, partitions, status
from tests.cli.conftest import Cli
from tests.support.supervised import Supervised
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    cluster = Supervised(
        tmp_path_factory.mktemp("cluster"),
        *("--nodes", "3", "--set", "offsets.topic.num.partitions=3"),
        *("--set", "auto.leader.rebalance.enable=false"),
    )
    cluster.ready()
    yield cluster
    cluster.kill()


@pytest.fixture
def cli(nodes: Supervised) -> Iterator[Cli]:
    command = Cli(nodes.ready())
    yield command
    command.end()
    wait_until(lambda: command.run("cluster", "status").returncode == 0, "not healthy again")


def test_a_healthy_cluster(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--partitions", "6", "--replication-factor", "3")
    found = status(cli)
    assert found["healthy"]
    assert found["problems"] == []
    assert [node["state"] for node in found["nodes"]] == ["up"] * 3
    assert [node["role"] for node in found["nodes"]] == ["voter"] * 3
    assert sum(node["controller"] for node in found["nodes"]) == 1
    assert len(found["quorum"]["voters"]) == 3
    text = cli.ok("cluster", "status")
    assert text.startswith(f"cluster {found['cluster_id']}: healthy\n")
    assert "quorum: led by node" in text
    assert sorted(leaders(cli, name)) == [1, 1, 2, 2, 3, 3]
    assert cli.ok("topics", "describe", "--under-replicated") == ""


def test_more_replicas_than_nodes_are_refused(cli: Cli, name: str) -> None:
    error = cli.fails(1, "topics", "create", name, "--replication-factor", "4")
    assert "between 1 and the number of brokers" in error


@pytest.mark.long
def test_a_node_that_is_down_is_seen(nodes: Supervised, cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--partitions", "3", "-c", "min.insync.replicas=3")
    nodes.nodes()[2].suspend()
    try:
        wait_until(lambda: "node 2 is fenced" in status(cli)["problems"], "not fenced")
        wait_until(lambda: all(row["under_replicated"] for row in partitions(cli, name)), "in sync")
        found = status(cli)
        assert not found["healthy"]
        assert [name, 0] in found["partitions"]["under_replicated"]
        assert [name, 0] in found["partitions"]["below_min_isr"]
        assert found["nodes"][1]["leaders"] == 0
        done = cli.run("cluster", "status", "--wait", "1")
        assert done.returncode == 1
        assert b"below min.insync.replicas=3" in done.stdout
        shown = cli.ok("topics", "describe", name, "--under-replicated")
        assert shown.count("under-replicated") == 3
    finally:
        nodes.nodes()[2].resume()


def test_without_a_majority_it_is_said_what_to_start(nodes: Supervised, cli: Cli) -> None:
    running = nodes.nodes()
    running[2].suspend()
    running[3].suspend()
    try:
        expected = "no controller: 1 of 3 voters answer, 2 are needed; start node 2 or 3"
        wait_until(
            lambda: f": {expected}; " in cli.run("cluster", "status").stdout.decode(), expected
        )
        found = status(cli)
        assert found["problems"][:3] == [
            expected,
            "node 2 is unreachable",
            "node 3 is unreachable",
        ]
        assert found["quorum"] is None
    finally:
        running[2].resume()
        running[3].resume()


@pytest.mark.long
def test_replicas_are_moved_and_their_number_changes(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--partitions", "2", "--replication-factor", "1")
    cli.ok("produce", name, "--partition", "0", stdin="a\nb\n")
    assert cli.json("cluster", "move", f"{name}:0", "--to", "3,1") == {
        "partitions": 1,
        "cancelled": False,
        "done": True,
    }
    moved = partitions(cli, name)[0]
    assert (moved["leader"], moved["replicas"], sorted(moved["isr"])) == (3, [3, 1], [1, 3])
    assert moved["end_offset"] == 2
    cli.ok("cluster", "move", name, "--to", "1,2,3")
    assert [row["replicas"] for row in partitions(cli, name)] == [[1, 2, 3], [2, 3, 1]]
    assert leaders(cli, name) == [1, 2]
    assert cli.ok("consume", name, "--no-follow") == "a\nb\n"


@pytest.mark.long
def test_a_throttled_move_leaves_room_for_others(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--replication-factor", "1")
    cli.ok("cluster", "move", name, "--to", "1")
    with Producer(cli.bootstrap) as producer:
        for _ in range(80):
            producer.send(name, random.randbytes(100_000))
    began = time.monotonic()
    cli.ok("cluster", "move", name, "--to", "2", "--throttle", "2000000")
    assert time.monotonic() - began > 2.5, "8 MB at 2 MB a second"
    with Admin(cli.bootstrap) as admin:
        for found in (admin.configs(topic=name), admin.configs(broker=1), admin.configs(broker=2)):
            left = [
                each.name for each in found.values() if "throttled" in each.name and each.is_own
            ]
            assert left == [], "the throttle is still there"
        assert partitions(cli, name)[0]["end_offset"] == 80
        admin.delete_topic(name)  # its only replica would keep a node from being drained
    assert "needs --to" in cli.fails(2, "cluster", "move", "--cancel", "--throttle", "1")


@pytest.mark.parametrize(("role", "node"), [("leader", 1), ("follower", 2)])
@pytest.mark.long
def test_each_side_of_a_copy_can_be_throttled(cli: Cli, name: str, role: str, node: int) -> None:
    cli.ok("topics", "create", name, "--replication-factor", "1")
    cli.ok("cluster", "move", name, "--to", "1")
    with Producer(cli.bootstrap) as producer:
        for _ in range(30):
            producer.send(name, random.randbytes(100_000))
    rate, replicas = f"{role}.replication.throttled.rate", f"{role}.replication.throttled.replicas"
    with Admin(cli.bootstrap) as admin:
        admin.set_configs({rate: 1000}, broker=node)
        admin.set_configs({replicas: f"0:{node}"}, topic=name)
        cli.ok("cluster", "move", name, "--to", "2", "--no-wait")
        time.sleep(1)
        assert admin.describe_topic(name).partitions[0].isr == [1], "it has caught up"
        admin.set_configs({rate: 100_000_000}, broker=node)
        wait_until(lambda: admin.describe_topic(name).partitions[0].isr == [2], "no progress")
        admin.set_configs({rate: None}, broker=node)
        admin.delete_topic(name)


def test_moves_that_make_no_sense_are_refused(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name)
    assert "no node 9" in cli.fails(1, "cluster", "move", name, "--to", "1,9")
    assert "there is no partition" in cli.fails(2, "cluster", "move", f"{name}:7", "--to", "1")
    assert "appears twice" in cli.fails(2, "cluster", "move", name, "--to", "1,1")
    assert "either --to" in cli.fails(2, "cluster", "move", name)
    assert "either --to" in cli.fails(2, "cluster", "move", name, "--to", "1", "--cancel")
    assert "nothing to move" in cli.fails(2, "cluster", "move", "--to", "1")
    assert "does not exist" in cli.fails(1, "cluster", "move", "nowhere", "--to", "1")


@pytest.mark.long
def test_a_move_to_a_node_that_is_down_waits_and_can_be_called_off(
    nodes: Supervised, cli: Cli, name: str
) -> None:
    cli.ok("topics", "create", name, "--replication-factor", "1")
    (row,) = partitions(cli, name)
    home = row["leader"]
    other = home % 3 + 1
    nodes.nodes()[other].suspend()
    try:
        wait_until(lambda: f"node {other} is fenced" in status(cli)["problems"], "not fenced")
        cli.ok("cluster", "move", name, "--to", str(other), "--no-wait")
        assert status(cli)["partitions"]["moving"] == [[name, 0]]
        assert cli.json("cluster", "move", name, "--cancel")["partitions"] == 1
        assert status(cli)["partitions"]["moving"] == []
        assert partitions(cli, name)[0]["replicas"] == [home]
    finally:
        nodes.nodes()[other].resume()


def test_a_drained_node_leads_nothing_until_all_is_spread_again(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--partitions", "6")
    cli.ok("cluster", "drain", "2")
    assert 2 not in leaders(cli, name)
    assert status(cli)["nodes"][1]["leaders"] == 0
    assert status(cli)["nodes"][1]["replicas"] > 0
    cli.ok("cluster", "add-node", "2", "--rebalance")
    wait_until(lambda: is_spread(cli), lambda: f"leaders: {leader_counts(cli)}")


def leader_counts(cli: Cli) -> list[int]:
    return [node["leaders"] for node in status(cli)["nodes"]]


def is_spread(cli: Cli) -> bool:
    counts = leader_counts(cli)
    return max(counts) - min(counts) <= 1


@pytest.mark.long
def test_what_a_node_led_before_it_was_down_is_spread_too(
    nodes: Supervised, cli: Cli, name: str
) -> None:
    """Its replicas are where they should be, so no plan names them."""
    cli.ok("topics", "create", name, "--partitions", "6")
    nodes.nodes()[2].suspend()
    try:
        wait_until(lambda: leader_counts(cli)[1] == 0, "it still leads")
    finally:
        nodes.nodes()[2].resume()
    wait_until(lambda: status(cli)["healthy"], "not in sync")
    cli.ok("cluster", "add-node", "2", "--rebalance")
    wait_until(lambda: is_spread(cli), lambda: f"leaders: {leader_counts(cli)}")


@pytest.mark.long
def test_what_only_a_drained_node_keeps_is_named(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--replication-factor", "1")
    (row,) = partitions(cli, name)
    error = cli.run("cluster", "drain", str(row["leader"]))
    assert error.returncode == 1
    assert f"{name}-0".encode() in error.stderr
    cli.ok("topics", "delete", name)
    cli.ok("cluster", "add-node", str(row["leader"]), "--rebalance")


@pytest.mark.long
def test_a_node_that_is_down_neither_leads_nor_leaves_with_the_only_copy(
    nodes: Supervised, cli: Cli, name: str
) -> None:
    cli.ok("topics", "create", name, "--partitions", "3")
    cli.ok("topics", "create", f"{name}-solo", "--replication-factor", "1")
    cli.ok("cluster", "move", f"{name}-solo", "--to", "3")
    cli.ok("topics", "create", f"{name}-duo", "--replication-factor", "2")
    cli.ok("cluster", "move", f"{name}-duo", "--to", "2,3")
    nodes.nodes()[3].suspend()
    try:
        wait_until(lambda: "node 3 is fenced" in status(cli)["problems"], "not fenced")
        done = cli.run("cluster", "drain", "2")
        assert done.returncode == 1
        assert (
            f"error: node 2 still leads {name}-duo-0: no other in-sync replica is up"
            in done.stderr.decode()
        )
        assert set(leaders(cli, name)) == {1}
        assert {row["replicas"][0] for row in partitions(cli, name)} <= {1, 3}
        down = cli.run("cluster", "drain", "3")
        assert (down.returncode, down.stderr) == (0, b"node 3 is down and leads nothing\n")
        error = cli.fails(1, "cluster", "remove-node", "3", "--fewer-replicas")
        assert f"{name}-solo-0 is only on node 3, which is down; start node 3, or" in error
        assert f"barnabas cluster elect {name}-solo:0 --unclean" in error
        assert 3 in partitions(cli, name)[0]["replicas"]
    finally:
        nodes.nodes()[3].resume()
    wait_until(lambda: status(cli)["healthy"], "node 3 has not come back")
    cli.ok("topics", "delete", f"{name}-solo", f"{name}-duo")
    cli.ok("cluster", "add-node", "2", "--rebalance")


@pytest.mark.long
def test_nothing_is_rebalanced_while_a_node_is_down(nodes: Supervised, cli: Cli) -> None:
    """The others would get its share, and it would keep what it has."""
    nodes.nodes()[3].suspend()
    try:
        wait_until(lambda: "node 3 is fenced" in status(cli)["problems"], "not fenced")
        error = cli.run("cluster", "add-node", "2", "--rebalance").stderr.decode()
        assert "error: node 3 is down: start it, or remove it with" in error
    finally:
        nodes.nodes()[3].resume()


@pytest.mark.long
def test_leadership_goes_back_to_the_preferred_replicas(
    nodes: Supervised, cli: Cli, name: str
) -> None:
    cli.ok("topics", "create", name, "--partitions", "3")
    before = leaders(cli, name)
    nodes.nodes()[1].send_signal(signal.SIGTERM)
    wait_until(lambda: 1 not in leaders(cli, name), "leadership has not moved")
    wait_until(lambda: status(cli)["healthy"], "node 1 has not come back")
    if leaders(cli, name) != before:  # a node that comes back may get its own at once
        cli.ok("cluster", "elect", name)
        assert leaders(cli, name) == before
    cli.ok("cluster", "rebalance-leaders")
    assert cli.json("cluster", "rebalance-leaders") == []


def test_no_unclean_election_is_held_where_there_is_a_leader(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name)
    assert cli.json("cluster", "elect", name, "--unclean", "--dry-run") == []
    assert "no election needed" in cli.run("cluster", "elect", name, "--unclean").stderr.decode()
    assert cli.json("cluster", "elect", name, "--unclean", "--yes") == []


def test_a_node_that_others_cannot_replace_does_not_leave_by_accident(cli: Cli, name: str) -> None:
    cli.ok("topics", "create", name, "--replication-factor", "3")
    assert "--fewer-replicas" in cli.fails(1, "cluster", "remove-node", "3")
    assert "there is no node 7" in cli.fails(1, "cluster", "remove-node", "7")
    error = cli.fails(1, "cluster", "drain", "7")
    assert error == "error: there is no node 7; the cluster has nodes 1, 2, 3\n"


def test_watching_goes_on_until_it_is_interrupted(cli: Cli) -> None:
    watching = cli.start("cluster", "status", "--watch", "--interval", "0.1", "--json")
    assert watching.stdout is not None
    lines = [watching.stdout.readline() for _ in range(3)]
    assert all(b'"healthy": true' in line for line in lines)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(LIMIT_S) == 130


def test_the_quorum_is_described_through_any_node(cli: Cli) -> None:
    async def ask(bootstrap: str) -> int:
        async with ClusterClient(bootstrap) as cluster:
            return (await describe_quorum(cluster)).leader_id

    found = {asyncio.run(ask(address)) for address in cli.bootstrap.split(",")}
    assert len(found) == 1

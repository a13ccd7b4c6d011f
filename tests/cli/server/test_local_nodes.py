"""What each node of a cluster on one machine is given."""

import socket
from pathlib import Path

import pytest

from barnabas.broker.quorum.configured_voters import parse_voters
from barnabas.broker.settings.config import ConfigError
from barnabas.cli.server.local_nodes import (
    check_new,
    check_single_directory,
    nodes_beyond,
    plan_another,
    plan_nodes,
)
from barnabas.cli.server.local_voters import choose_voters, remember_voters
from barnabas.cli.server.node_process import LONGEST_PAUSE_S, pause_before_start


def test_nodes_have_following_ports_and_directories_of_their_own(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    nodes = plan_nodes({"listeners": "localhost:9000", "log.dirs": data, "num.partitions": "4"}, 3)
    assert [node.name for node in nodes] == ["node-1", "node-2", "node-3"]
    assert [str(node.address) for node in nodes] == [f"localhost:900{n}" for n in (0, 1, 2)]
    second = nodes[1].properties
    assert second["node.id"] == "2"
    assert second["listeners"] == "localhost:9001"
    assert second["log.dirs"] == f"{data}/node-2"
    assert second["num.partitions"] == "4"
    voters = "1@localhost:9000,2@localhost:9001,3@localhost:9002"
    assert {node.properties["controller.quorum.voters"] for node in nodes} == {voters}
    assert "advertised.listeners" not in second


VOTERS = "controller.quorum.voters"


def voters(tmp_path: Path, count: int) -> list[int]:
    nodes = plan_nodes({"listeners": "localhost:9000", "log.dirs": str(tmp_path)}, count)
    (same,) = {node.properties[VOTERS] for node in nodes}
    return [voter.id for voter in parse_voters(same)]


def has_data(tmp_path: Path, *numbers: int) -> None:
    for number in numbers:
        (tmp_path / f"node-{number}").mkdir(parents=True)
        (tmp_path / f"node-{number}" / "meta.properties").touch()


@pytest.mark.parametrize(
    ("count", "voting"),
    [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (6, 5), (7, 5)],
)
def test_an_odd_number_of_nodes_votes(
    tmp_path: Path, count: int, voting: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert voters(tmp_path, count) == list(range(1, voting + 1))
    choose_voters(tmp_path, count)
    said = capsys.readouterr().err
    assert (said == "") == (count == voting)
    if count > voting:
        assert said.startswith(f"{voting} of {count} nodes vote")
    has_data(tmp_path, *range(1, count + 1))
    assert voters(tmp_path, count) == list(range(1, voting + 1)), "the same at the next start"


def test_a_cluster_that_grows_keeps_its_voters(tmp_path: Path) -> None:
    has_data(tmp_path, 1, 2, 3)
    assert voters(tmp_path, 3) == [1, 2, 3]
    assert voters(tmp_path, 4) == [1, 2, 3]
    assert voters(tmp_path, 5) == [1, 2, 3, 4, 5]


def test_nodes_that_vote_already_go_on_voting(tmp_path: Path) -> None:
    has_data(tmp_path, 1, 2, 3, 4)
    assert voters(tmp_path, 4) == [1, 2, 3, 4]
    assert voters(tmp_path, 3) == [1, 2, 3]


def test_a_voter_that_has_lost_its_disk_is_named_as_one(tmp_path: Path) -> None:
    has_data(tmp_path, 1, 2)
    assert voters(tmp_path, 3) == [1, 2, 3]
    remember_voters(tmp_path, [1, 3])
    assert voters(tmp_path, 3) == [1, 3]


def test_without_settings_the_defaults_are_the_first_nodes(tmp_path: Path) -> None:
    (node,) = plan_nodes({}, 1)
    assert node.properties["listeners"] == "localhost:9092"
    assert node.properties["log.dirs"] == "barnabas-data/node-1"


def test_port_0_takes_free_ports_which_all_differ(tmp_path: Path) -> None:
    nodes = plan_nodes({"listeners": "127.0.0.1:0", "log.dirs": str(tmp_path)}, 5)
    ports = {node.address.port for node in nodes}
    assert len(ports) == 5
    assert 0 not in ports
    assert all(f"{node.node_id}@{node.address}" in node.properties["controller.quorum.voters"]
               for node in nodes)  # fmt: skip


def test_advertised_addresses_follow_the_ports(tmp_path: Path) -> None:
    given = {
        "listeners": "0.0.0.0:9000",
        "advertised.listeners": "example.org:7000",
        "log.dirs": str(tmp_path),
    }
    first, second, _ = plan_nodes(given, 3)
    assert second.properties["listeners"] == "0.0.0.0:9001"
    assert second.properties["advertised.listeners"] == "example.org:7001"
    assert str(first.address) == "example.org:7000"
    assert second.properties["controller.quorum.voters"].endswith("3@localhost:9002")


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"node.id": "3"}, "node.id=3 cannot be combined with --nodes"),
        ({"controller.quorum.voters": "1@a:1"}, "cannot be combined with --nodes"),
        ({"listeners": "0.0.0.0:9092"}, "--advertise"),
        ({"listeners": "localhost:65534"}, "3 nodes need ports up to 65536"),
        ({"listeners": "nonsense"}, "HOST:PORT"),
        ({"no.such.setting": "1"}, "no setting"),
    ],
)
def test_what_does_not_go_with_nodes_is_refused(properties: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan_nodes(properties, 3)
    assert said in str(refused.value)


def test_a_single_nodes_data_is_not_taken_for_a_clusters(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    with pytest.raises(ConfigError, match="data of a single node"):
        plan_nodes({"log.dirs": str(tmp_path)}, 3)
    check_single_directory({"log.dirs": str(tmp_path)})


def test_a_clusters_data_is_not_taken_for_a_single_nodes(tmp_path: Path) -> None:
    (tmp_path / "node-1").mkdir()
    (tmp_path / "node-1" / "meta.properties").touch()
    with pytest.raises(ConfigError, match="start it with --nodes"):
        check_single_directory({"log.dirs": str(tmp_path)})
    check_single_directory({"log.dirs": str(tmp_path / "node-1")})


def test_nodes_that_are_not_started_are_noticed(tmp_path: Path) -> None:
    for name in ("node-1", "node-2", "node-10", "node-3", "node-x", "other"):
        (tmp_path / name).mkdir()
    assert nodes_beyond(tmp_path, 2) == [3, 10]
    assert nodes_beyond(tmp_path / "missing", 2) == []


def test_pauses_double_up_to_a_bound() -> None:
    assert [pause_before_start(n) for n in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert pause_before_start(7) == pause_before_start(70) == LONGEST_PAUSE_S


def test_another_node_takes_no_port_that_is_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        last = f"127.0.0.1:{taken.getsockname()[1] - 1}"
        nodes = plan_nodes({"log.dirs": str(tmp_path), "listeners": last}, 1)
        another = plan_another(nodes)
        assert another.address.port not in (nodes[0].address.port, taken.getsockname()[1])
    assert another.node_id == 2
    assert another.properties["log.dirs"] == str(tmp_path / "node-2")
    assert another.properties["listeners"] == str(another.address)
    voters = "controller.quorum.voters"
    assert another.properties[voters] == nodes[0].properties[voters]


def test_another_node_is_refused_where_there_is_data(tmp_path: Path) -> None:
    nodes = plan_nodes({"log.dirs": str(tmp_path), "listeners": "127.0.0.1:0"}, 1)
    another = plan_another(nodes)
    check_new(another)
    (tmp_path / "node-2").mkdir()
    with pytest.raises(ConfigError, match="--nodes 2"):
        check_new(another)

"""`barnabas server --secure`: closed from the first start on."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from barnabas.cli.base.properties import read_properties
from barnabas.cli.server.local_nodes import plan_nodes
from tests.cli.conftest import Cli
from tests.support.supervised import Supervised
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    running: list[Supervised] = []
    yield running
    for each in running:
        each.kill()


@pytest.mark.long
def test_a_secured_cluster(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "3", "--secure", real=True)
    supervised.append(cluster)
    servers = cluster.ready()
    cluster.wait_for("Connect as the administrator: barnabas ")
    config = tmp_path / "data" / "security" / "admin.properties"
    admin = ("--command-config", str(config))
    cli = Cli(servers)
    assert read_properties(config, "")["bootstrap.servers"] == servers

    assert [user["user"] for user in cli.json("users", "list", *admin)] == ["admin"]
    cli.ok("topics", "create", "orders", "--replication-factor", "3", *admin)
    cli.ok("users", "add", "alice", *admin, stdin="correct horse\n")
    cli.ok("acls", "add", "alice", "read,write", "--topic", "orders", *admin)
    cli.ok("acls", "add", "alice", "read", "--group", "readers", *admin)

    cluster.nodes()[1].kill()
    ca = str(tmp_path / "data" / "security" / "ca.pem")
    alice = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": ca,
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": "correct horse",
    }

    def is_sent() -> bool:
        failed: list[object] = []
        producer = Producer(alice)
        producer.produce("orders", b"1", callback=lambda error, _: failed.append(error))
        assert producer.flush(LIMIT_S) == 0
        return failed == [None]

    wait_until(is_sent)  # a node may not know the rule yet
    alice["sasl.mechanism"] = "SCRAM-SHA-256"  # users have both, so listeners take both
    consumer = Consumer({**alice, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == b"1"
    consumer.close()
    with pytest.raises(KafkaException):  # not even its name
        Producer({**alice, "sasl.password": "wrong"}).list_topics(timeout=5)

    assert (tmp_path / "data").stat().st_mode & 0o077 == 0, "records are in there"
    secrets = [read_properties(config, "")["sasl.password"], "correct horse"]
    for process in cluster.process, *cluster.nodes().values():
        arguments = Path(f"/proc/{process.pid}/cmdline").read_text()
        assert not [each for each in secrets if each in arguments]
    assert not [each for each in secrets if each in cluster.output]

    cluster.process.send_signal(signal.SIGINT)
    assert cluster.end() == 0

    forgotten = Supervised(tmp_path, "--nodes", "3")
    assert forgotten.end() == 2
    assert "start it with --secure" in forgotten.output

    again = Supervised(tmp_path, "--nodes", "3", "--secure")
    supervised.append(again)
    assert "orders" in Cli(again.ready()).ok("topics", "list", *admin)


def test_data_of_an_open_cluster_is_not_closed_by_an_option(tmp_path: Path) -> None:
    (node,) = plan_nodes({"log.dirs": str(tmp_path / "data"), "listeners": "127.0.0.1:0"}, 1)
    directory = Path(node.properties["log.dirs"])
    directory.mkdir(parents=True)
    (directory / "meta.properties").write_text("version=1\n")
    cluster = Supervised(tmp_path, "--nodes", "1", "--secure")
    assert cluster.end() == 2
    assert "was not begun with --secure" in cluster.output
    assert not (tmp_path / "data" / "security").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--set", "listeners=SSL://localhost:0"),
        ("--set", "ssl.keystore.location=/x"),
        ("--voters", "1@localhost:9092"),
    ],
)
def test_what_it_sets_itself_can_not_be_set(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    error = Cli("").fails(2, "server", "--secure", "--data", str(tmp_path / "d"), *arguments)
    assert "--secure" in error
    assert not (tmp_path / "d").exists()

"""Two of three data directories are lost: the cluster is rebuilt from the third."""

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cli.conftest import Cli
from tests.cluster.conftest import TOPIC
from tests.cluster.test_damage import COUNT, VALUES, commit, committed, consumed, fill
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

ONLY_ELSEWHERE = "elsewhere"


@pytest.fixture
def cli(cluster: ClusterProcesses) -> Cli:
    return Cli(cluster.bootstrap)


def transaction(cluster: ClusterProcesses, values: list[bytes], *, commits: bool) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "t"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(TOPIC, value)
    producer.flush(LIMIT_S)
    if commits:
        producer.commit_transaction(60)


def read_committed(cluster: ClusterProcesses, count: int) -> list[bytes]:
    """That many values from the end of the first batch of records on."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, COUNT)])
    values: list[bytes] = []

    def have_come() -> bool:
        values.extend(m.value() or b"" for m in consumer.consume(count - len(values), 1))
        return len(values) >= count

    try:
        wait_until(have_come, "committed records are missing")
    finally:
        consumer.close()
    return values


def lose_all_but(cluster: ClusterProcesses, survivor: NodeProcess) -> None:
    cluster.kill_all()
    for node in cluster.nodes.values():
        if node is not survivor:
            shutil.rmtree(node.data)


def files(directory: Path) -> dict[Path, bytes]:
    found = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    found.pop(directory / ".lock")
    return found


def test_one_directory_is_left(cluster: ClusterProcesses, cli: Cli) -> None:
    fill(cluster)
    commit(cluster, 123)
    transaction(cluster, [b"one", b"two"], commits=True)
    transaction(cluster, [b"never"], commits=False)
    cluster.wait_until_in_sync()
    # A follower: it is neither the founder of the cluster, nor the leader of the topic.
    survivor = next(n for n in (cluster[3], cluster[2]) if n is not cluster.leader_of(TOPIC))
    others = [node for node in cluster.nodes.values() if node is not survivor]
    cluster.create_topic(ONLY_ELSEWHERE, replicas=1, min_insync_replicas="1")
    cli.ok("cluster", "move", ONLY_ELSEWHERE, "--to", str(others[0].node_id))
    assert "in use by process" in cli.fails(1, "cluster", "recover", "--data", str(survivor.data))
    lose_all_but(cluster, survivor)

    before = files(survivor.data)
    found = cli.json("cluster", "recover", "--data", str(survivor.data))
    assert files(survivor.data) == before, "a look changes nothing"
    survival = {(each["topic"], each["partition"]): each for each in found["partitions"]}
    assert survival[TOPIC, 0]["survival"] == "complete"
    assert survival[TOPIC, 0]["end_offset"] >= COUNT + 4
    assert survival[ONLY_ELSEWHERE, 0]["survival"] == "lost"
    assert found["voters"] == [1, 2, 3]
    assert found["rebuilt"] is False

    refused = cli.run("cluster", "recover", "--data", str(survivor.data), "--apply", stdin="n\n")
    assert refused.returncode == 1
    assert files(survivor.data) == before
    done = cli.run("cluster", "recover", "--data", str(survivor.data), "--apply", "--yes")
    assert done.returncode == 0, done.stderr.decode()
    assert f"node {survivor.node_id} is the only voter" in done.stderr.decode()

    survivor.start()  # alone, with the settings that it had
    assert consumed(cluster) == (VALUES, None)
    assert committed(cluster) == 123
    assert read_committed(cluster, 2) == [b"one", b"two"]

    for node in others:
        node.launch()
    for node in others:
        node.wait_until_ready()
    (lost,) = cli.json("cluster", "recover", ONLY_ELSEWHERE)
    assert lost["offline"]
    assert lost["loss"] == "all records: every replica that answers is empty"
    (elected,) = cli.json("cluster", "recover", ONLY_ELSEWHERE, "--apply", "--yes")
    assert elected["elected"]
    cluster.wait_until_whole()
    assert cli.json("cluster", "recover") == []

    # The rest of the open transaction is rolled back by its successor, and new ones go on.
    transaction(cluster, [b"three"], commits=True)
    assert read_committed(cluster, 3) == [b"one", b"two", b"three"]
    survivor.kill()
    assert consumed(cluster) == (VALUES, None)
    assert committed(cluster) == 123
    survivor.start()
    cluster.wait_until_whole()

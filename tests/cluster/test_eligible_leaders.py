"""The last replica in sync loses its disk, while others have everything."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.embedded.view import PartitionState
from tests.cli.conftest import Cli
from tests.cluster.conftest import SETTINGS, TOPIC
from tests.conftest import ELSEWHERE
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

RECORDS = 600


@pytest.fixture
def cluster(tmp_path: Path, min_isr: str) -> Iterator[ClusterProcesses]:
    if ELSEWHERE:
        pytest.skip("needs a cluster of its own")
    settings = SETTINGS | {"min.insync.replicas": min_isr, "controlled.shutdown.enable": "false"}
    with ClusterProcesses(tmp_path, 5, settings) as cluster:
        yield cluster


def produce(cluster: ClusterProcesses) -> None:
    lost: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(
            TOPIC, str(number).encode(), on_delivery=lambda error, _: error and lost.append(error)
        )
    assert producer.flush(LIMIT_S) == 0
    assert not lost


def consume(cluster: ClusterProcesses) -> list[int]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g"})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: list[int] = []
        while len(found) < RECORDS:
            message = consumer.poll(60)
            assert message is not None, f"only {len(found)} records"
            assert message.error() is None, message.error()
            found.append(int(message.value()))
        return found
    finally:
        consumer.close()


def lose_the_last_disk(cluster: ClusterProcesses) -> NodeProcess:
    """Two replicas are killed with their disks intact; then the third loses its own."""
    cluster.create_topic(TOPIC, 1)
    produce(cluster)
    leader = cluster.leader_of(TOPIC)
    others = [i for i in state(cluster).replicas if i != leader.node_id]
    for node_id in others:
        cluster[node_id].kill()
    wait_until(lambda: set(state(cluster).isr) == {leader.node_id}, "the in-sync set stays")
    leader.kill()
    leader.wipe()
    cluster.start()
    return leader


def state(cluster: ClusterProcesses) -> PartitionState:
    return cluster.partitions(TOPIC)[TOPIC, 0]


@pytest.mark.parametrize("min_isr", ["2"])
def test_an_eligible_replica_leads_by_itself(cluster: ClusterProcesses) -> None:
    wiped = lose_the_last_disk(cluster)
    assert cluster.leader_of(TOPIC) is not wiped
    assert consume(cluster) == list(range(RECORDS))
    cluster.wait_until_in_sync()


@pytest.mark.parametrize("min_isr", ["1"])
def test_an_unclean_election_chooses_who_has_most(cluster: ClusterProcesses) -> None:
    wiped = lose_the_last_disk(cluster)
    cli = Cli(cluster.bootstrap)
    assert state(cluster).leader == -1
    (prospect,) = cli.json("cluster", "elect", TOPIC, "--unclean", "--dry-run")
    ends = {replica["node"]: replica["end_offset"] for replica in prospect["replicas"]}
    assert ends.pop(wiped.node_id) == 0
    assert set(ends.values()) == {RECORDS}
    shown = cli.ok("cluster", "elect", TOPIC, "--unclean", "--dry-run")
    assert "would lead" in shown
    assert state(cluster).leader == -1
    refused = cli.run("cluster", "elect", TOPIC, "--unclean", stdin="n\n")
    assert refused.returncode == 1
    assert b"will be lost" in refused.stderr
    cli.ok("cluster", "elect", TOPIC, "--unclean", "--yes")
    assert cluster.leader_of(TOPIC) is not wiped
    assert consume(cluster) == list(range(RECORDS))
    cluster.wait_until_in_sync()

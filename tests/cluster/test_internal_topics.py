"""Damage to internal topics: a node starts all the same, and what others have is fetched again."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas import Queue
from tests.cluster.conftest import SETTINGS
from tests.support.broker import BrokerProcess
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

TOPIC = "jobs"
GROUPS = [f"group-{number}" for number in range(8)]
INTERNAL = {
    **SETTINGS,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def flipped(directory: Path) -> None:
    path = max(directory.glob("*.log"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncated(directory: Path) -> None:
    path = max(directory.glob("*.log"))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def deleted(directory: Path) -> None:
    max(directory.glob("*.log")).unlink()


def lost(directory: Path) -> None:
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with contextlib.ExitStack() as stack:
        nodes = ClusterProcesses(tmp_path_factory.mktemp("internal"), 3, INTERNAL)
        cluster = stack.enter_context(nodes)
        cluster.create_topic(TOPIC)
        yield cluster


def commit(bootstrap: str, group: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(bootstrap: str, group: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        (partition,) = consumer.committed([TopicPartition(TOPIC, 0)], 60)
        return int(partition.offset)
    finally:
        consumer.close()


def transaction(bootstrap: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, value)
    producer.commit_transaction(60)


def take(bootstrap: str, count: int) -> list[object]:
    """So many jobs, each of which is accepted."""
    jobs: list[object] = []
    with Queue(bootstrap, TOPIC, group="workers", start="earliest") as queue:
        for job in queue:
            jobs.append(job.value)
            job.accept()
            if len(jobs) == count:
                break
    return jobs


def acknowledged(broker: BrokerProcess) -> int:
    """How many records of the offsets topic a node has written down to have acknowledged."""
    path = broker.data / "replication-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line.split() for line in lines if line.startswith("__consumer_offsets 0 ")]
    return max((int(fields[2]) for fields in found), default=0)


def damage_all(node: NodeProcess, damage: Callable[[Path], None]) -> None:
    node.kill()
    for topic in TOPICS:
        damage(node.data / f"{topic}-0")
    node.start()


@pytest.mark.parametrize(
    "damage",
    [
        flipped,
        pytest.param(truncated, marks=pytest.mark.long),
        pytest.param(deleted, marks=pytest.mark.long),
        pytest.param(lost, marks=pytest.mark.long),
    ],
)
def test_what_other_replicas_have_is_fetched_again(
    cluster: ClusterProcesses, damage: Callable[[Path], None]
) -> None:
    bootstrap = cluster.bootstrap
    name = damage.__name__
    commit(bootstrap, name, 5)
    transaction(bootstrap, name.encode())
    assert take(bootstrap, 1) == [name.encode()]
    cluster.wait_until_in_sync()
    leader = cluster.leader_of("__consumer_offsets")
    damage_all(leader, damage)
    cluster.wait_until_whole()
    assert "__consumer_offsets-0" in leader.log.read_text()
    assert committed(bootstrap, name) == 5
    transaction(bootstrap, b"next")
    assert take(bootstrap, 1) == [b"next"]


@pytest.mark.parametrize("damage", [pytest.param(flipped, marks=pytest.mark.long), truncated])
def test_a_single_replica_serves_what_can_be_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    settings = {"offsets.topic.num.partitions": "1"}
    with BrokerProcess(tmp_path, settings) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce(TOPIC, b"creates the topic")
        assert producer.flush(LIMIT_S) == 0
        for number, group in enumerate(GROUPS):
            commit(broker.bootstrap, group, number)
        # Without it, a missing end could not be noticed.
        wait_until(lambda: acknowledged(broker) >= len(GROUPS), "no high watermark")
        broker.kill()
        damage(broker.data / "__consumer_offsets-0")
        broker.start()
        found = [committed(broker.bootstrap, group) for group in GROUPS]
        known = [number for number, offset in enumerate(found) if offset == number]
        assert 0 < len(known) < len(GROUPS), "some are lost, and the others are served"
        assert all(found[number] < 0 for number in range(len(GROUPS)) if number not in known)
        assert "what was there is forgotten" in broker.log.read_text()
        for group in GROUPS:
            commit(broker.bootstrap, group, 77)
        broker.kill()
        broker.start()
        assert {committed(broker.bootstrap, group) for group in GROUPS} == {77}

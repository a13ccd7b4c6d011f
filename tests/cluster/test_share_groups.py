"""Share groups while nodes are killed with `kill -9`.

Two consumers of a foreign client accept each record they get. Whatever dies, each record comes, and
none comes again once its acknowledgement was answered.
"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, ShareConsumer

from barnabas import Admin
from barnabas.metadata.image import GROUP_RESOURCE
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.cluster.faults import killed
from tests.support.cluster import ClusterProcesses
from tests.support.wait import LIMIT_S, wait_until

TOPIC = "jobs"
GROUP = "workers"
SETTINGS = {
    "broker.session.timeout.ms": "2000",
    "group.share.min.record.lock.duration.ms": "1000",
    # No consumer may have a record in its buffer when the lock ends: handed out by then, it would
    # look as if it had come again.
    "group.share.record.lock.duration.ms": "15000",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "replica.lag.time.max.ms": "3000",
    "share.coordinator.state.topic.num.partitions": "3",
}
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 200, "topic.metadata.refresh.interval.ms": 500}

UNKNOWN = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT}
"""Errors of an acknowledgement that may have been stored nevertheless."""


class Journal:
    """What consumers got, and what they were told is accepted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.delivered: set[bytes] = set()
        self.accepted: set[bytes] = set()
        self.unanswered: set[bytes] = set()
        """The leader did not answer: it may have accepted them before."""
        self.wrong: list[bytes] = []

    def got(self, value: bytes) -> None:
        with self._lock:
            self.delivered.add(value)
            self.unanswered.discard(value)
            if value in self.accepted:
                self.wrong.append(value)

    def answered(self, values: list[bytes]) -> None:
        with self._lock:
            self.accepted.update(values)

    def not_answered(self, values: list[bytes]) -> None:
        with self._lock:
            self.unanswered.update(values)

    def has_all(self, values: set[bytes]) -> bool:
        with self._lock:
            return values <= self.accepted | self.unanswered


def consume(bootstrap: str, journal: Journal, over: threading.Event) -> None:
    config = {"bootstrap.servers": bootstrap, "group.id": GROUP, **QUIET}
    consumer = ShareConsumer({**config, "share.acknowledgement.mode": "explicit"})
    try:
        consumer.subscribe([TOPIC])
        while not over.is_set():
            with contextlib.suppress(KafkaException):
                work(consumer, journal)
    finally:
        consumer.close()


def work(consumer: ShareConsumer, journal: Journal) -> None:
    values: dict[int, list[bytes]] = {}
    for message in consumer.poll(0.5):
        if message.error() is None:
            journal.got(message.value())
            values.setdefault(message.partition(), []).append(message.value())
            consumer.acknowledge(message)
    try:
        results = consumer.commit_sync(20)
    except KafkaException:
        for each in values.values():
            journal.not_answered(each)
        raise
    for partition, failure in results.items():
        acknowledged = values.pop(partition.partition, [])
        if failure is None:
            journal.answered(acknowledged)
        elif failure.args[0].code() in UNKNOWN:
            journal.not_answered(acknowledged)


@contextlib.contextmanager
def workers(bootstrap: str, journal: Journal) -> Iterator[None]:
    over = threading.Event()
    threads = [threading.Thread(target=consume, args=(bootstrap, journal, over)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with ClusterProcesses(tmp_path, 3, SETTINGS) as cluster:
        yield cluster


def test_each_record_is_accepted_once(cluster: ClusterProcesses) -> None:
    cluster.create_topic(TOPIC, 2, 3)
    earliest = AlterableConfig("share.auto.offset.reset", 0, "earliest")
    change = AlterConfigsResource(GROUP_RESOURCE, GROUP, [earliest])
    answer = cluster.ask_any(IncrementalAlterConfigsRequest([change]))
    assert answer.responses[0].error_code == 0
    journal = Journal()
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **QUIET})
    sent: set[bytes] = set()

    def produce(count: int) -> None:
        for _ in range(count):
            value = b"%d" % len(sent)
            sent.add(value)
            producer.produce(TOPIC, value)
        assert producer.flush(LIMIT_S) == 0

    def all_accepted() -> bool:
        """What is not accepted although it may have been comes again, and is in the backlog."""
        if not journal.has_all(sent):
            return False
        with Admin(cluster.bootstrap) as admin:
            found = admin.describe_group(GROUP).offsets.values()
        return sum(each.lag or 0 for each in found) == 0 and journal.has_all(sent)

    with workers(cluster.bootstrap, journal):
        produce(500)
        wait_until(all_accepted, "nothing is killed, and not all is accepted")
        for topic, partition in ((TOPIC, 0), ("__share_group_state", 0), (TOPIC, 1)):
            leader = cluster.leader_of(topic, partition)
            produce(300)
            with killed(cluster, leader):
                produce(300)
                wait_until(all_accepted, f"{topic} was killed")
            cluster.wait_until_whole()
    assert not journal.wrong, f"accepted, and delivered again: {journal.wrong[:10]}"
    assert journal.delivered >= sent

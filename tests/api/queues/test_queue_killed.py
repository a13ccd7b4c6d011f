"""Killed workers: others have their jobs and their partitions long before the session ends.

Sessions last for an hour here, so that nothing comes back with their end.
"""

import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import pytest
from confluent_kafka import ShareConsumer

import barnabas
from barnabas.errors import UnknownGroup
from tests.support.wait import LIMIT_S, wait_until

PARTITIONS = 3
COUNT = 30
HOUR_MS = 3_600_000
SETTINGS = {
    "group.share.disconnect.grace.ms": 300,
    "group.share.heartbeat.interval.ms": 1_000,
    "group.share.min.heartbeat.interval.ms": 1_000,
    "group.share.max.session.timeout.ms": HOUR_MS,
    "group.share.session.timeout.ms": HOUR_MS,
    "group.share.max.record.lock.duration.ms": HOUR_MS,
    "group.share.record.lock.duration.ms": HOUR_MS,
    "offsets.topic.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 3,
}

OURS = """
import os, sys, time
import barnabas

servers, topic = sys.argv[1:]
with barnabas.Queue(servers, topic, group=topic, prefetch=9) as queue:
    for job in queue:
        os.write(1, b"begun\\n")
        time.sleep(3600)
"""
FOREIGN = """
import os, sys, time
from confluent_kafka import ShareConsumer

servers, topic = sys.argv[1:]
consumer = ShareConsumer({"bootstrap.servers": servers, "group.id": topic, "log_level": 0,
                          "share.acknowledgement.mode": "explicit"})
consumer.subscribe([topic])
while not consumer.poll(1):
    pass
os.write(1, b"begun\\n")
time.sleep(3600)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(nodes=3, settings=SETTINGS) as cluster:
        yield cluster


class Jobs:
    """Jobs of a topic, submitted in turn to its partitions."""

    def __init__(self, producer: barnabas.Producer, topic: str) -> None:
        self.topic = topic
        self.sent: set[int] = set()
        self._producer = producer

    def submit(self, count: int) -> None:
        for number in range(len(self.sent), len(self.sent) + count):
            self._producer.send(self.topic, number, partition=number % PARTITIONS).result(LIMIT_S)
            self.sent.add(number)


@pytest.fixture
def jobs(cluster: barnabas.Cluster) -> Iterator[Jobs]:
    name = f"jobs-{uuid4().hex[:8]}"
    cluster.create_topic(name, partitions=PARTITIONS)
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.set_configs({"share.auto.offset.reset": "earliest"}, group=name)
    with barnabas.Producer(cluster.bootstrap_servers, value_format="int") as producer:
        jobs = Jobs(producer, name)
        jobs.submit(COUNT)
        yield jobs


@contextmanager
def worker(program: str, servers: str, jobs: Jobs) -> "Iterator[subprocess.Popen[bytes]]":
    """One that has a job.

    New jobs come until it has one: those of before may all be locked by another worker.
    """
    command = [sys.executable, "-c", program, servers, jobs.topic]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    with process:
        try:
            assert process.stdout is not None

            def begun() -> bool:
                jobs.submit(PARTITIONS)
                return bool(select.select([process.stdout], [], [], 0.3)[0])

            wait_until(begun, "a worker has no job")
            assert process.stdout.readline() == b"begun\n"
            yield process
        finally:
            process.kill()


def member_count(cluster: barnabas.Cluster, group: str) -> int:
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        return len(admin.describe_group(group).members)


@pytest.mark.parametrize("program", [OURS, FOREIGN], ids=["ours", "foreign"])
def test_partitions_and_jobs_of_killed_workers_go_to_the_one_that_is_left(
    cluster: barnabas.Cluster, jobs: Jobs, program: str
) -> None:
    """Two are killed at once, so a partition may be without a worker until it is given away."""
    servers, group = cluster.bootstrap_servers, jobs.topic
    got: set[int] = set()
    with ExitStack() as stack:
        killed = [stack.enter_context(worker(program, servers, jobs)) for _ in range(2)]
        queue = stack.enter_context(
            barnabas.Queue(servers, group, group=group, value_format="int", prefetch=1)
        )

        def accepted() -> bool:
            job = queue.get(0.2)
            if job is not None:
                got.add(job.value)
                job.accept()
            return job is not None

        def first_accepted() -> bool:
            jobs.submit(PARTITIONS)
            return accepted()

        wait_until(first_accepted, "the one that is left has no job")
        assert member_count(cluster, group) == 3
        for each in killed:
            each.send_signal(signal.SIGKILL)

        def all_came() -> bool:
            accepted()
            return got == jobs.sent

        wait_until(all_came, lambda: f"{jobs.sent - got} are locked, or not read")
        wait_until(lambda: member_count(cluster, group) == 1, "killed workers are still members")


def led_elsewhere(cluster: barnabas.Cluster) -> str:
    """A topic whose leader is not the coordinator of groups, with a group of the same name.

    A member that reads from its coordinator is known to live.
    """
    with pytest.raises(UnknownGroup):
        member_count(cluster, "none")  # which creates the topic of the coordinator
    coordinator = cluster.leader_of("__consumer_offsets")
    while True:
        name = f"jobs-{uuid4().hex[:8]}"
        cluster.create_topic(name, partitions=1)
        if cluster.leader_of(name) != coordinator:
            break
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.set_configs({"share.auto.offset.reset": "earliest"}, group=name)
    return name


def test_a_foreign_client_that_closes_idle_connections_reads_on(
    cluster: barnabas.Cluster,
) -> None:
    """It is removed between two heartbeats, and joins again."""
    group = topic = led_elsewhere(cluster)
    seen: list[bytes] = []
    consumer = ShareConsumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "connections.max.idle.ms": 100,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
        }
    )

    def polled() -> int:
        messages = consumer.poll(0.1)
        seen.extend(message.value() for message in messages if message.error() is None)
        return len(seen)

    with barnabas.Producer(cluster.bootstrap_servers, value_format="int") as producer:
        try:
            consumer.subscribe([topic])
            for number in range(2):
                producer.send(topic, number).result(LIMIT_S)
                wait_until(lambda: polled() == number + 1, "it reads no more")  # noqa: B023
                wait_until(
                    lambda: polled() and member_count(cluster, group) == 0, "it is not removed"
                )
        finally:
            consumer.close()
    assert len(set(seen)) == len(seen)

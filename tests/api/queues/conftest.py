"""A broker with share groups: ours, or the one at BARNABAS_QUEUE_SERVERS, to compare with Kafka."""

import os
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

import barnabas

LOCK_S = 3
"""Short, for what is about locks that expire; long enough for a busy machine to renew them."""
SETTINGS = {
    "group.share.record.lock.duration.ms": LOCK_S * 1_000,
    "group.share.min.record.lock.duration.ms": 1_000,
    "share.coordinator.state.topic.num.partitions": 1,
}
"""A Kafka has to be given the same."""


@pytest.fixture(scope="package")
def queue_servers() -> Iterator[str]:
    given = os.environ.get("BARNABAS_QUEUE_SERVERS")
    if given:
        yield given
        return
    with barnabas.Cluster(settings=SETTINGS) as cluster:
        yield cluster.bootstrap_servers


Jobs = Callable[..., str]


@pytest.fixture
def jobs(queue_servers: str) -> Jobs:
    """Makes a topic with jobs 0, 1, … in turn in its partitions."""

    def make(count: int, partitions: int = 1) -> str:
        name = f"jobs-{uuid4().hex[:8]}"
        with barnabas.Admin(queue_servers) as admin:
            admin.create_topic(name, partitions=partitions)
        with barnabas.Producer(queue_servers, value_format="int") as producer:
            for number in range(count):
                producer.send(topic=name, value=number, partition=number % partitions)
        return name

    return make

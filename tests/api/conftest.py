"""A broker for the tests of consumers, and both faces."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from tests.api.faces import Asyncio, Blocking, Face
from tests.support.wait import wait_until

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "auto.create.topics.enable": False,
}


@pytest.fixture(scope="session")
def broker_of_groups() -> Iterator[barnabas.Cluster]:
    """One node that lets sessions be short; each test uses topics and groups of its own."""
    with barnabas.Cluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def servers(broker_of_groups: barnabas.Cluster) -> str:
    return broker_of_groups.bootstrap_servers


@pytest.fixture(params=["blocking", "asyncio"])
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    if request.param == "blocking":
        yield Blocking()
        return
    loop = asyncio.new_event_loop()
    yield Asyncio(loop)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


Fill = Callable[..., str]


@pytest.fixture
def topic_with(broker_of_groups: barnabas.Cluster) -> Fill:
    """Makes a topic with messages "0", "1", ... in turn in its partitions."""

    def make(count: int, partitions: int = 1) -> str:
        name = f"t-{uuid4().hex[:10]}"
        broker_of_groups.create_topic(name, partitions=partitions)
        if count:
            fill(broker_of_groups.bootstrap_servers, name, range(count), partitions)
        return name

    return make


def fill(servers: str, topic: str, numbers: range, partitions: int = 1) -> None:
    """Send numbers, a thousandth of a second apart from each other."""
    with barnabas.Producer(servers) as producer:
        for n in numbers:
            producer.send(
                topic,
                b"%d" % n,
                b"k%d" % (n % 5),
                headers=[("n", b"%d" % n)],
                partition=n % partitions,
                timestamp_ms=1_700_000_000_000 + n,
            )


def until_begun(consumer: Any, partitions: int) -> None:
    """Until it has its partitions, and so knows where they end; there is nothing to read."""

    def has_begun() -> bool:
        assert consumer.poll(0.05) == []
        return len(consumer.assignment) == partitions

    wait_until(has_begun, lambda: f"{len(consumer.assignment)} of {partitions} partitions")

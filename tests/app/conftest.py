"""A broker for applications; each test has topics and groups of its own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

import barnabas


@pytest.fixture(scope="session")
def app_broker() -> Iterator[barnabas.Cluster]:
    settings = {"group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": False}
    with barnabas.Cluster(settings=settings) as cluster:
        yield cluster


@pytest.fixture
def servers(app_broker: barnabas.Cluster) -> str:
    return app_broker.bootstrap_servers


@pytest.fixture
def topic(app_broker: barnabas.Cluster) -> str:
    name = f"orders-{uuid4().hex[:8]}"
    app_broker.create_topic(name, partitions=4)
    return name

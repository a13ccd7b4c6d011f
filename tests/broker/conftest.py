"""Brokers for raw requests: one that a module shares, and what else a test starts itself."""

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest

from barnabas.broker.environment import Environment
from barnabas.broker.node import Node
from barnabas.broker.node_run import close_node, start_node
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, OsDisk
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess

_numbers = count()


@pytest.fixture(scope="module")
def node(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[BrokerProcess]:
    """The module's broker, with the module's SETTINGS; it must not complain of itself."""
    settings = getattr(request.module, "SETTINGS", {})
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        yield broker
        broker.stop()
        assert "Traceback" not in broker.log.read_text(), broker.log_tail()


@pytest.fixture
def client(node: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(node.host, node.port) as client:
        yield client


@pytest.fixture(scope="module")
def local_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node in this process, without sockets, with the topic `t` of two partitions."""
    loop = asyncio.new_event_loop()
    path = str(tmp_path_factory.mktemp("local"))
    data = DataDirectory.open(
        OsDisk(), path, node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
    )
    config = BrokerConfig({"num.partitions": "2", "broker.session.timeout.ms": str(24 * 3_600_000)})
    node = Node(config, data, Environment.real(loop), pytest.fail)
    loop.run_until_complete(start_node(node))
    assert loop.run_until_complete(node.topic_creation.create(["t"])) == {"t": 0}
    yield node
    loop.run_until_complete(close_node(node))
    loop.close()


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{next(_numbers)}"

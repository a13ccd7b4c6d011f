"""Brokers for raw requests: one that a module shares, and what else a test starts itself."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from barnabas.broker.environment import Environment
from barnabas.broker.node import Node
from barnabas.broker.node_run import close_node, start_node
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, OsDisk
from barnabas.wire.endpoint import Endpoint
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


@contextmanager
def running_node(path: Path, settings: Mapping[str, str]) -> Iterator[Node]:
    """A node in this process, without sockets, with its data below `path`."""
    loop = asyncio.new_event_loop()
    data = DataDirectory.open(
        OsDisk(), str(path), node_id=1, new_cluster_id="c", new_directory_id=bytes(16)
    )
    config = BrokerConfig(
        {"num.partitions": "2", "broker.session.timeout.ms": str(24 * 3_600_000), **settings}
    )
    node = Node(config, data, Environment.real(loop), pytest.fail)
    node.cluster.advertised = {"PLAINTEXT": Endpoint("PLAINTEXT", "localhost", 9092)}
    loop.run_until_complete(start_node(node))
    try:
        yield node
    finally:
        loop.run_until_complete(close_node(node))
        loop.close()


@pytest.fixture(scope="module")
def local_node(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Node]:
    """A node in this process, without sockets, with the topic `t` of two partitions, and the
    module's SETTINGS."""
    settings = getattr(request.module, "SETTINGS", {})
    with running_node(tmp_path_factory.mktemp("local"), settings) as node:
        assert node.loop.run_until_complete(node.topic_creation.create(["t"])) == {"t": 0}
        yield node


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{next(_numbers)}"

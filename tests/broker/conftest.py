"""Brokers for raw requests: one that a module shares, and what else a test starts itself."""

from collections.abc import Iterator
from itertools import count

import pytest

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


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{next(_numbers)}"

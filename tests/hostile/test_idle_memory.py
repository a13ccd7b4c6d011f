"""Thousands of connections that do nothing: what they take, and what is left when they are gone."""

from contextlib import ExitStack

import pytest

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.hostile.onlooker import MB, resident
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

COUNT = 2000


@pytest.fixture
def before(broker: BrokerProcess) -> int:
    """The broker's memory when it has served a client."""
    with RawClient(broker.host, broker.port) as client:
        client.ask(ApiVersionsRequest("first", "1"))
    return resident(broker.pid)


@pytest.mark.usefixtures("open_files")
def test_idle_connections_take_little_and_leave_nothing(broker: BrokerProcess, before: int) -> None:
    def grown() -> int:
        return resident(broker.pid) - before

    with ExitStack() as stack:
        for _ in range(COUNT):
            client = stack.enter_context(RawClient(broker.host, broker.port))
            client.ask(ApiVersionsRequest("idle", "1"))
        wait_until(lambda: grown() < COUNT * 10_000, "idle connections keep their buffers")
    wait_until(lambda: grown() < 10 * MB, "memory of closed connections is not given back")

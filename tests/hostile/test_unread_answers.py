"""Consumers that ask and never read: their answers are bounded, and so is what is left of them."""

from contextlib import ExitStack

import pytest

from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import BY_NAME, asked, create_topic, fetch_request, produced
from tests.conftest import MakeBroker
from tests.hostile.onlooker import MB, Onlooker, resident
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

LIMIT = 64 * MB
CONSUMERS = 150
_OWN = 40 * MB
"""What a broker may grow by for other reasons: code that runs for the first time, buffers."""


@pytest.fixture
def broker(make_broker: MakeBroker) -> BrokerProcess:
    broker = make_broker(queued_max_response_bytes=str(LIMIT))
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        for _ in range(12):
            produced(client, "t", batch(b"x" * 450_000))
    return broker


def _fetches(client: RawClient, count: int) -> bytes:
    request = fetch_request(asked("t", {0: 0}, max_bytes=8 * MB), max_bytes=8 * MB)
    return b"".join(client.frame(request, BY_NAME) for _ in range(count))


def _deaf(broker: BrokerProcess) -> RawClient:
    return RawClient(broker.host, broker.port, receive_buffer=4096)


@pytest.mark.parametrize("fetches", [1, 20])
def test_answers_that_are_not_read_stay_within_their_limit(
    broker: BrokerProcess, fetches: int
) -> None:
    with Onlooker(broker) as onlooker:
        with ExitStack() as stack:
            for _ in range(CONSUMERS):
                client = stack.enter_context(_deaf(broker))
                client.send_bytes(_fetches(client, fetches))
            with RawClient(broker.host, broker.port) as last:
                last.ask(MetadataRequest(topics=[]))
        assert onlooker.grown < LIMIT + _OWN
        wait_until(
            lambda: resident(broker.pid) < onlooker.before + _OWN, "memory is not given back"
        )


@pytest.mark.long
def test_many_small_answers_count_too(broker: BrokerProcess) -> None:
    """Some hundred kilobytes of each, all together far above the limit."""
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "wide", 8000)
    with Onlooker(broker) as onlooker, ExitStack() as stack:
        for _ in range(300):
            client = stack.enter_context(_deaf(broker))
            client.send_bytes(client.frame(MetadataRequest(topics=None)) * 20)
        wait_until(lambda: _names_the_limit(broker), "no connection is closed")
        assert onlooker.grown < LIMIT + _OWN


def test_who_reads_is_served_all_the_same(broker: BrokerProcess) -> None:
    with ExitStack() as stack:
        for _ in range(CONSUMERS):
            client = stack.enter_context(_deaf(broker))
            client.send_bytes(_fetches(client, 2))
        with RawClient(broker.host, broker.port) as honest:
            for _ in range(20):
                honest.send_bytes(_fetches(honest, 1))
                answer = honest.receive()
                assert len(answer.responses[0].partitions[0].records) > 0


def _names_the_limit(broker: BrokerProcess) -> bool:
    return "queued.max.response.bytes is used up" in broker.log.read_text()

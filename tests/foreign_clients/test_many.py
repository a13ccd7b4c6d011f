"""Many topics, many partitions, many connections."""

import socket
from collections.abc import Iterator

import pytest

from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.conftest import ELSEWHERE
from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.face import Client
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

NAMES = [f"topic-{i:04}" for i in range(1000)]


@pytest.fixture(scope="module")
def thousand_topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with a thousand topics, one record in each, that was stopped and started again."""
    if ELSEWHERE:
        pytest.skip("needs a broker of its own")
    with BrokerProcess(tmp_path_factory.mktemp("many")) as broker:
        with Confluent().admin(broker.bootstrap) as admin:
            for name in NAMES:
                admin.create_topic(name)
        with Confluent().producer(broker.bootstrap) as producer:
            for name in NAMES:
                producer.send(name, name.encode(), partition=0)
            assert [outcome.offset for outcome in producer.flush()] == [0] * 1000
        broker.restart()
        yield broker.bootstrap


@pytest.mark.xdist_group("thousand topics")  # one worker, so that they are created once
def test_a_thousand_topics(client: Client, thousand_topics: str, name: str) -> None:
    with client.admin(thousand_topics) as admin:
        assert admin.topics() >= set(NAMES)
        assert admin.partition_count(NAMES[500]) == 1
    with client.consumer(thousand_topics, name) as consumer:
        consumer.subscribe(NAMES)
        records = consumer.read(1000, timeout_s=LIMIT_S)
    assert sorted(r.value or b"" for r in records) == [topic.encode() for topic in NAMES]


def test_two_hundred_connections(client: Client, bootstrap: str, new_topic: NewTopic) -> None:
    """Each of 200 connections gets its answers while another client works."""
    topic = new_topic()
    host, _, port = bootstrap.partition(":")
    connections = [socket.create_connection((host, int(port)), timeout=LIMIT_S) for _ in range(200)]
    try:
        with client.producer(bootstrap) as producer:
            for round_number in range(3):
                for number, connection in enumerate(connections):
                    request = encode_request(ApiVersionsRequest(), 0, number, "many")
                    connection.sendall(b"".join(request))
                producer.send(topic, b"%d" % round_number, partition=0)
                (outcome,) = producer.flush()
                assert outcome.offset == round_number
                for number, connection in enumerate(connections):
                    assert _answer(connection, number).api_keys
    finally:
        for connection in connections:
            connection.close()


def _answer(connection: socket.socket, correlation_id: int) -> ApiVersionsResponse:
    with connection.makefile("rb") as incoming:
        length = int.from_bytes(incoming.read(4), "big")
        frame = incoming.read(length)
    assert int.from_bytes(frame[:4], "big") == correlation_id
    return decode_response(frame, ApiVersionsResponse, 0)


def test_one_record_wakes_all_who_wait(client: Client, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    consumers = [client.consumer(bootstrap) for _ in range(20)]
    try:
        for consumer in consumers:
            consumer.assign(topic, {0: 0})
            consumer.poll(0)
        with client.producer(bootstrap) as producer:
            producer.send(topic, b"for all", partition=0)
            producer.flush()
        for consumer in consumers:
            assert [r.value for r in consumer.read(1)] == [b"for all"]
    finally:
        for consumer in consumers:
            consumer.close()

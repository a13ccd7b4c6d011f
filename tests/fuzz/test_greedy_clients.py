"""Clients that want more than their share: of memory, of partitions, of patience."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Message, Request, Response
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.foreign_clients.confluent import Confluent
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

MB = 1024 * 1024


@pytest.fixture(autouse=True)
def others_are_served(broker: BrokerProcess) -> Iterator[None]:
    """After each attack the broker is up, not much larger, and at the service of others."""
    before = broker.rss()
    yield
    with Confluent().producer(broker.bootstrap) as producer:
        producer.send("work", b"still here", partition=0)
        (outcome,) = producer.flush()
    assert outcome.error is None
    assert broker.rss() - before < 60 * MB
    assert "Traceback" not in broker.log.read_text()


@pytest.fixture
def open_sockets(broker: BrokerProcess) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connect(broker: BrokerProcess) -> socket.socket:
    return socket.create_connection((broker.host, broker.port), timeout=LIMIT_S)


def ask(broker: BrokerProcess, request: Request[Response], version: int) -> Message:
    with connect(broker) as connection, connection.makefile("rb") as incoming:
        connection.sendall(b"".join(encode_request(request, version, 1, "greedy")))
        (length,) = struct.unpack(">i", incoming.read(4))
        return decode_response(incoming.read(length), request.RESPONSE, version)


def test_promised_bytes_cost_nothing_before_they_come(
    broker: BrokerProcess, open_sockets: ExitStack
) -> None:
    before = broker.rss()
    for _ in range(100):
        connection = open_sockets.enter_context(connect(broker))
        connection.sendall(struct.pack(">i", 90 * MB) + bytes(1000))
    # Answered last, so that everything before it has been read.
    ask(broker, MetadataRequest(topics=[]), 9)
    assert broker.rss() - before < 40 * MB


def test_connections_that_come_and_go(broker: BrokerProcess) -> None:
    for i in range(500):
        with connect(broker) as connection:
            if i % 3:
                connection.sendall(b"\0\0\1\0\0")


@pytest.mark.parametrize("count", [2**31 - 1, 1_000_000])
def test_absurd_numbers_of_partitions_are_refused(broker: BrokerProcess, count: int) -> None:
    topic = CreatableTopic(name="huge", num_partitions=count, replication_factor=1)
    created = ask(broker, CreateTopicsRequest([topic], 10_000), 7)
    assert created.topics[0].error_code != ErrorCode.NONE
    more = CreatePartitionsTopic(name="fuzz", count=count, assignments=None)
    added = ask(broker, CreatePartitionsRequest([more], 10_000), 3)
    assert added.results[0].error_code != ErrorCode.NONE

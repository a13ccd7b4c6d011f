"""librdkafka reads what we write and writes what we read, with every codec.

librdkafka brings a mock broker that stores batches as they come and serves them unchanged, so its
producer and consumer are tested here without a broker of ours.
"""

import socket
import struct
from collections.abc import Iterator
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.records.batch import parse_header, patch_assigned
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.record import Row
from barnabas.records.validate import validate_batch
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.support.wait import LIMIT_S

T = TypeVar("T", bound=Response)

PRODUCE_VERSION = 7  # the first with zstd
FETCH_VERSION = 10  # the first with zstd

# Compressible, some blocks of every codec long, and with nulls, headers and old timestamps.
ROWS: list[Row] = [
    (
        1_700_000_000_000 - i,
        None if i % 5 == 0 else b"key-%d" % i,
        None if i % 7 == 0 else b"value %d " % i * (i % 40),
        (("header", b"x" * i), ("null", None)) if i % 3 == 0 else (),
    )
    for i in range(1000)
]


class MockBroker:
    """A librdkafka mock broker and one plain connection to it."""

    def __init__(self) -> None:
        self._owner = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
        [broker] = self._owner.list_topics(timeout=LIMIT_S).brokers.values()
        self.address = f"{broker.host}:{broker.port}"
        self._socket = socket.create_connection((broker.host, broker.port), timeout=LIMIT_S)

    def create_topic(self, topic: str) -> None:
        """The mock broker creates a topic when it is asked about it."""
        self._owner.list_topics(topic, timeout=LIMIT_S)

    def ask(self, request: Request[T], version: int, answer: type[T]) -> T:
        self._socket.sendall(b"".join(encode_request(request, version, 1, "test")))
        (size,) = struct.unpack(">i", self._receive(4))
        return decode_response(self._receive(size), answer, version)

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk
            data += chunk
        return data

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    mock = MockBroker()
    yield mock
    mock.close()


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_librdkafka_reads_what_we_write(broker: MockBroker, compression: Compression) -> None:
    topic = f"ours-{compression}"
    broker.create_topic(topic)
    batch = encode_batch(ROWS, compression=compression)
    partition = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=1,
        timeout_ms=5000,
        topic_data=[TopicProduceData(name=topic, partition_data=[partition])],
    )
    answer = broker.ask(request, PRODUCE_VERSION, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0

    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "g",
            "check.crcs": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(len(ROWS), timeout=LIMIT_S)
    consumer.close()
    assert [message.error() for message in messages if message.error()] == []
    assert [m.offset() for m in messages] == list(range(len(ROWS)))
    assert [
        (m.timestamp()[1], m.key(), m.value(), tuple(m.headers() or ())) for m in messages
    ] == ROWS


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_we_read_what_librdkafka_writes(broker: MockBroker, compression: Compression) -> None:
    topic = f"theirs-{compression}"
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "compression.type": str(compression),
            "enable.idempotence": True,
            "linger.ms": 100,
        }
    )
    for timestamp, key, value, headers in ROWS:
        producer.produce(topic, value, key, partition=0, timestamp=timestamp, headers=list(headers))
    assert producer.flush(LIMIT_S) == 0

    fetched: list[Row] = []
    while len(fetched) < len(ROWS):
        partition = FetchPartition(
            partition=0, fetch_offset=len(fetched), partition_max_bytes=10_000_000
        )
        request = FetchRequest(
            max_wait_ms=1000,
            min_bytes=1,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        )
        answer = broker.ask(request, FETCH_VERSION, FetchResponse)
        records = answer.responses[0].partitions[0].records
        assert records
        for header, batch in iter_batches(records):
            assert header.compression == compression
            assert header.has_producer
            records_in_batch = decode_batch(batch)
            assert [r.offset for r in records_in_batch] == list(
                range(len(fetched), len(fetched) + len(records_in_batch))
            )
            fetched += [(r.timestamp, r.key, r.value, r.headers) for r in records_in_batch]
            produced = bytearray(batch)
            patch_assigned(produced, 0, parse_header(produced), 0, -1)
            validate_batch(
                memoryview(produced), max_batch_bytes=10**7, max_decompressed_bytes=10**7
            )
    assert fetched == ROWS

"""A disk without room: producers get an error, readers go on, and all is well when there is room.

The kernel's limit on the size of a file stands in for the full disk.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import create_topic, produce, produced, stored
from tests.support.broker import BrokerProcess


@contextmanager
def no_room(node: BrokerProcess, file_bytes: int = 0) -> Iterator[None]:
    """No file grows beyond `file_bytes`, by default not even by a byte."""
    process = psutil.Process(node.pid)
    _, hard = process.rlimit(resource.RLIMIT_FSIZE)
    process.rlimit(resource.RLIMIT_FSIZE, (file_bytes, hard))
    try:
        yield
    finally:
        process.rlimit(resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("version", [7, 12])
@pytest.mark.parametrize("acks", [-1, 1])
def test_a_produce_is_refused_and_later_taken(
    client: RawClient, topic: str, node: BrokerProcess, timestamp_type: str, version: int, acks: int
) -> None:
    create_topic(client, topic, message_timestamp_type=timestamp_type)
    assert produced(client, topic, batch(b"a"), version=version, acks=acks) == 0
    with no_room(node):
        answer = produce(client, topic, batch(b"lost"), version=version, acks=acks)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert stored(client, topic) == [b"a"]
    assert produced(client, topic, batch(b"b"), version=version, acks=acks) == 1
    assert stored(client, topic) == [b"a", b"b"]


@pytest.mark.parametrize("known", [True, False])
def test_what_is_behind_a_refused_batch_is_refused_for_the_same_reason(
    client: RawClient, topic: str, node: BrokerProcess, known: bool
) -> None:
    """OUT_OF_ORDER_SEQUENCE_NUMBER makes librdkafka begin a new epoch in all partitions, in which
    it stores again what waits to be committed elsewhere."""
    create_topic(client, topic)
    producer_id = client.ask(InitProducerIdRequest(None)).producer_id

    def send(sequence: int, size: int = 1) -> int:
        value = bytes([sequence]) * size
        data = batch(value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        return produce(client, topic, data).error_code

    first = 0
    if known:
        assert send(0) == ErrorCode.NONE
        first = 1
    with no_room(node, 300_000):
        assert send(first, 400_000) == ErrorCode.KAFKA_STORAGE_ERROR
        assert send(first + 1) == ErrorCode.KAFKA_STORAGE_ERROR, "though there is room for it"
    assert send(first + 2) == ErrorCode.KAFKA_STORAGE_ERROR
    assert send(first, 400_000) == ErrorCode.NONE
    assert send(first + 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(first + 1) == ErrorCode.NONE
    assert [value[0] for value in stored(client, topic)] == list(range(first + 2))


def test_the_log_says_it_but_not_for_every_attempt(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    with no_room(node, 300_000):  # which is room enough for the log of events
        for _ in range(5):
            assert produce(client, topic, batch(bytes(400_000))).error_code
    lines = [line for line in node.log_tail().splitlines() if f"{topic}-0" in line]
    assert len(lines) == 1
    assert "ERROR" in lines[0]
    assert "File too large" in lines[0]


def test_no_room_for_a_topic(client: RawClient, topic: str, node: BrokerProcess) -> None:
    request = CreateTopicsRequest([CreatableTopic(topic, 1, 1)])
    create_topic(client, f"{topic}-before")
    with no_room(node):
        answer = client.ask(request).topics[0]
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert "waits for room on its disk" in answer.error_message
        assert stored(client, f"{topic}-before") == []
    # What was decided comes to be when there is room.
    assert client.ask(request).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert produced(client, topic, batch(b"a")) == 0


def test_after_that_a_restart_finds_everything(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    with no_room(node):
        assert produce(client, topic, batch(b"lost")).error_code
    produced(client, topic, batch(b"b"))
    node.restart(kill=True)
    with RawClient(node.host, node.port) as again:
        assert stored(again, topic) == [b"a", b"b"]

"""Fetches without a session: what is given, how much of it, and how long it is waited for."""

import time

import pytest

from barnabas.records.decode import decode_records
from barnabas.wire.errors import ErrorCode
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BROKER,
    BY_NAME,
    DELETE,
    SET,
    alter,
    asked,
    create_topic,
    fetch_one,
    fetch_request,
    partitions_of,
    produced,
    values_of,
)
from tests.support.broker import BrokerProcess


def test_batches_come_as_they_were_sent(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    sent = batch(b"a", b"b", b"c")
    produced(client, topic, sent)
    data = fetch_one(client, topic)
    assert bytes(data.records)[16:] == sent[16:]  # all but base offset, length and leader epoch
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (3, 3, 0)
    # A batch comes whole, also when the consumer stands in the middle of it.
    assert values_of(fetch_one(client, topic, 2)) == [b"a", b"b", b"c"]
    assert values_of(fetch_one(client, topic, 3)) == []


@pytest.mark.parametrize("offset", [-1, 4, 1 << 60])
def test_out_of_range(client: RawClient, topic: str, offset: int) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a", b"b", b"c"))
    data = fetch_one(client, topic, offset, max_wait_ms=5000)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data.high_watermark, data.log_start_offset, data.records) == (3, 0, b"")


def test_what_is_not_there(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    request = fetch_request(asked(topic, {0: 0, 1: 0, -1: 0}), asked("nowhere", {0: 0}))
    told = partitions_of(client.ask(request, BY_NAME))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {key: data.error_code for key, data in told.items()} == {
        (topic, 0): 0,
        (topic, 1): unknown,
        (topic, -1): unknown,
        ("nowhere", 0): unknown,
    }


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_leader_epochs(client: RawClient, topic: str, epoch: int, error: int) -> None:
    create_topic(client, topic)
    request = fetch_request(asked(topic, {0: 0}, epoch=epoch))
    assert partitions_of(client.ask(request, BY_NAME))[topic, 0].error_code == error


# -- how much --------------------------------------------------------------------------------------


def test_limits_give_whole_batches_and_at_least_one(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    for _ in range(5):
        produced(client, topic, batch(b"x" * 100))
    size = len(batch(b"x" * 100))

    def count(*, partition: int = 1 << 20, whole: int = 1 << 20) -> int:
        request = fetch_request(asked(topic, {0: 0}, max_bytes=partition), max_bytes=whole)
        data = partitions_of(client.ask(request, BY_NAME))[topic, 0]
        return len(decode_records(data.records))

    assert [count(partition=n) for n in (0, 1, size, 2 * size, 3 * size - 1)] == [1, 1, 1, 2, 2]
    assert [count(whole=n) for n in (0, 1, size, 2 * size, 3 * size - 1)] == [1, 1, 1, 2, 2]
    assert count() == 5


def test_only_the_first_partition_may_pass_the_limit(client: RawClient, topic: str) -> None:
    create_topic(client, topic, 2)
    for partition in (0, 1):
        produced(client, topic, batch(b"x" * 100), partition=partition)
    request = fetch_request(asked(topic, {0: 0, 1: 0}), max_bytes=1)
    told = partitions_of(client.ask(request, BY_NAME))
    assert [len(values_of(told[topic, index])) for index in (0, 1)] == [1, 0]


def test_the_brokers_own_limit(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    for _ in range(4):
        produced(client, topic, batch(b"x" * 300))
    assert alter(client, (BROKER, "1"), ("fetch.max.bytes", SET, "1500")) == (0, None)
    try:
        assert len(values_of(fetch_one(client, topic))) == 2
    finally:
        alter(client, (BROKER, "1"), ("fetch.max.bytes", DELETE, None))


# -- how long --------------------------------------------------------------------------------------


def test_a_wait_ends_in_time(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    started = time.monotonic()
    assert values_of(fetch_one(client, topic, max_wait_ms=300)) == []
    assert time.monotonic() - started > 0.29


def test_an_append_ends_the_wait(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic)
    with RawClient(node.host, node.port) as reader:
        reader.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=600_000), BY_NAME)
        assert reader.is_silent(0.2)
        produced(client, topic, batch(b"a"))
        assert values_of(partitions_of(reader.receive())[topic, 0]) == [b"a"]


def test_min_bytes(client: RawClient, topic: str, node: BrokerProcess) -> None:
    """The wait goes on until enough is there, in all partitions together."""
    create_topic(client, topic, 2)
    one = batch(b"x" * 100)
    produced(client, topic, one)
    with RawClient(node.host, node.port) as reader:
        request = fetch_request(
            asked(topic, {0: 0, 1: 0}), max_wait_ms=20_000, min_bytes=3 * len(one)
        )
        reader.send(request, BY_NAME)
        assert reader.is_silent(0.1)
        produced(client, topic, one)
        assert reader.is_silent(0.1)
        produced(client, topic, one, partition=1)
        told = partitions_of(reader.receive())
        assert [len(values_of(told[topic, index])) for index in (0, 1)] == [2, 1]


def test_too_little_is_given_when_time_is_up(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    data = fetch_one(client, topic, max_wait_ms=100, min_bytes=1 << 20)
    assert values_of(data) == [b"a"]


def test_many_wait_for_one_append(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic)
    readers = [RawClient(node.host, node.port) for _ in range(50)]
    try:
        for reader in readers:
            reader.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=20_000), BY_NAME)
        assert readers[-1].is_silent(0.1)
        produced(client, topic, batch(b"a"))
        for reader in readers:
            assert values_of(partitions_of(reader.receive())[topic, 0]) == [b"a"]
    finally:
        for reader in readers:
            reader.socket.close()

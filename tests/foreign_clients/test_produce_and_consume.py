"""What is produced is what is consumed: content, order, offsets, timestamps, headers."""

import time

import pytest

from tests.foreign_clients.conftest import CLIENTS, NewTopic
from tests.foreign_clients.face import CREATE_TIME, LOG_APPEND_TIME, Client, Headers, Record

COMPRESSIONS = ["none", "gzip", "snappy", "lz4", "zstd"]
COUNT = 120
BEGIN_MS = 1_700_000_000_000


def sent_records() -> list[Record]:
    """Keys, values and headers of all sorts, null and empty ones among them."""
    keys = [b"", b"key", "schl\u00fcssel".encode(), None]
    headers: list[Headers] = [(), (("trace", b"\x00\xff"),), (("a", b"1"), ("a", b"2"), ("b", b""))]
    return [
        Record(
            partition=0,
            offset=i,
            key=keys[i % 4],
            value=[None, b"", b"%d " % i * (i % 50), b"unkeyed"][i % 4],
            headers=headers[i % 3],
            timestamp_ms=BEGIN_MS + i * 10,
        )
        for i in range(COUNT)
    ]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_compression_and_acks(
    client: Client, bootstrap: str, new_topic: NewTopic, compression: str, acks: str
) -> None:
    topic = new_topic()
    sent = sent_records()
    with client.producer(bootstrap, acks=acks, compression=compression) as producer:
        for r in sent:
            producer.send(
                topic,
                r.value,
                key=r.key,
                partition=0,
                headers=r.headers,
                timestamp_ms=r.timestamp_ms,
            )
        outcomes = producer.flush()
    assert [outcome.error for outcome in outcomes] == [None] * COUNT
    if acks != "0":
        assert [outcome.offset for outcome in outcomes] == list(range(COUNT))
    for reader in CLIENTS:
        with reader.consumer(bootstrap) as consumer:
            consumer.assign(topic, {0: 0})
            assert consumer.read(COUNT) == sent, f"read by {reader.name}"


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_idempotent_producer_stores_each_record_once(
    client: Client, bootstrap: str, new_topic: NewTopic, compression: str
) -> None:
    topic = new_topic(partitions=3)
    with client.producer(bootstrap, idempotent=True, compression=compression) as producer:
        for i in range(600):
            producer.send(topic, b"%d" % i, partition=i % 3)
        outcomes = producer.flush()
    assert [(o.partition, o.offset) for o in outcomes] == [(i % 3, i // 3) for i in range(600)]
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, {0: 0, 1: 0, 2: 0})
        records = consumer.read(600)
    for partition in range(3):
        values = [r.value for r in records if r.partition == partition]
        assert values == [b"%d" % i for i in range(partition, 600, 3)]


def test_a_long_stream_is_read_record_by_record(
    client: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    """Many batches over several partitions and segments."""
    count, partitions = 20_000, 4
    topic = new_topic(partitions, segment_bytes="1048576")
    with client.producer(bootstrap, compression="lz4") as producer:
        for i in range(count):
            producer.send(topic, b"%d" % i + bytes(i % 300), partition=i % partitions)
        outcomes = producer.flush()
    places = [(outcome.partition, outcome.offset) for outcome in outcomes]
    assert places == [(i % partitions, i // partitions) for i in range(count)]
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, dict.fromkeys(range(partitions), 0))
        records = consumer.read(count)
    for partition in range(partitions):
        read = [(r.offset, r.value) for r in records if r.partition == partition]
        expected = range(partition, count, partitions)
        assert read == [(n, b"%d" % i + bytes(i % 300)) for n, i in enumerate(expected)]


def test_a_key_always_goes_to_the_same_partition(
    client: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(partitions=5)
    with client.producer(bootstrap) as producer:
        for i in range(200):
            producer.send(topic, b"%d" % i, key=b"key-%d" % (i % 20))
        assert all(outcome.error is None for outcome in producer.flush())
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, dict.fromkeys(range(5), 0))
        records = consumer.read(200)
    places: dict[bytes | None, set[int]] = {}
    for r in records:
        places.setdefault(r.key, set()).add(r.partition)
    assert len(places) == 20
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len(set.union(*places.values())) > 1


def test_log_append_time(client: Client, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1000)
    with client.producer(bootstrap) as producer:
        for i in range(10):
            producer.send(topic, b"%d" % i, partition=0, timestamp_ms=BEGIN_MS)
        producer.flush()
    after_ms = int(time.time() * 1000)
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, {0: 0})
        records = consumer.read(10)
    assert {r.timestamp_type for r in records} == {LOG_APPEND_TIME}
    assert all(before_ms <= r.timestamp_ms <= after_ms for r in records)


def test_a_timestamp_is_given_when_the_producer_has_none(
    client: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic()
    before_ms = int(time.time() * 1000)
    with client.producer(bootstrap) as producer:
        producer.send(topic, b"now", partition=0)
        producer.flush()
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, {0: 0})
        (record,) = consumer.read(1)
    assert record.timestamp_type == CREATE_TIME
    assert before_ms <= record.timestamp_ms <= int(time.time() * 1000)


def test_a_message_of_ten_megabytes(client: Client, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(max_message_bytes="11000000")
    value = bytes(range(256)) * 40_960
    assert len(value) == 10 * 1024 * 1024
    with client.producer(bootstrap, max_bytes=11_000_000) as producer:
        producer.send(topic, value, partition=0)
        (outcome,) = producer.flush()
    assert (outcome.error, outcome.offset) == (None, 0)
    with client.consumer(bootstrap, max_bytes=11_000_000) as consumer:
        consumer.assign(topic, {0: 0})
        assert consumer.read(1)[0].value == value


def test_a_message_over_the_limit_is_refused(
    client: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(max_message_bytes="10000")
    with client.producer(bootstrap) as producer:
        producer.send(topic, b"x" * 20_000, partition=0)
        (outcome,) = producer.flush()
        assert outcome.error is not None
        producer.send(topic, b"fits", partition=0)
        (outcome,) = producer.flush()
        assert (outcome.error, outcome.offset) == (None, 0)


def test_a_consumer_is_woken_by_what_is_produced(
    client: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    """A record arrives soon after it was sent, not when some waiting time is over."""
    topic = new_topic()
    with (
        client.consumer(bootstrap) as consumer,
        client.producer(bootstrap, linger_ms=0) as producer,
    ):
        consumer.assign(topic, {0: 0})
        producer.send(topic, b"first", partition=0)
        producer.flush()
        consumer.read(1)
        for i in range(20):
            producer.send(topic, b"%d" % i, partition=0)
            producer.flush()
            assert consumer.read(1)[0].value == b"%d" % i

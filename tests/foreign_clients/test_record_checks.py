"""What librdkafka makes of refused records, of records without a time, and of repaired logs."""

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from barnabas.log.offline.repair import repair_log
from barnabas.log.storage import OsDisk
from barnabas.records.batch import HEADER_SIZE, batch_size, patch_crc
from tests.foreign_clients.confluent import Confluent
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S, wait_until

HOUR_MS = 3_600_000


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"log.retention.check.interval.ms": "50"}
    with BrokerProcess(tmp_path_factory.mktemp("checks"), settings) as broker:
        yield broker


def create(broker: BrokerProcess, topic: str, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    with Confluent().admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 1, named)


def produce(broker: BrokerProcess, topic: str, *values: bytes, timestamp: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, value, timestamp=timestamp)
        assert producer.flush(LIMIT_S) == 0


def watermarks(broker: BrokerProcess, topic: str) -> tuple[int, int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=LIMIT_S)
        return low, high
    finally:
        consumer.close()


def read(broker: BrokerProcess, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes | None] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    return found


def test_records_without_a_timestamp_are_kept(broker: BrokerProcess) -> None:
    """Retention has been over all of them when it has deleted the old one."""
    create(broker, "timeless", retention_ms=str(HOUR_MS))
    create(broker, "zz-old", retention_ms=str(HOUR_MS))
    produce(broker, "timeless", b"a", b"b", timestamp=-1)
    produce(broker, "zz-old", b"old", timestamp=int(time.time() * 1000) - 2 * HOUR_MS)
    wait_until(lambda: watermarks(broker, "zz-old") == (1, 1), "retention does nothing")
    assert watermarks(broker, "timeless") == (0, 2)
    assert read(broker, "timeless", 2) == [b"a", b"b"]


def test_records_without_a_key_are_told_from_the_others(broker: BrokerProcess) -> None:
    create(broker, "keyed", cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 500})
    errors: dict[bytes, int] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        errors[message.value() or b""] = 0 if error is None else error.code()

    for number in range(100):
        key = None if number % 10 == 7 else b"k"
        producer.produce("keyed", b"%d" % number, key=key, on_delivery=delivered)
    assert producer.flush(LIMIT_S) == 0
    assert Counter(errors.values()) == {
        KafkaError.INVALID_RECORD: 10,
        KafkaError._INVALID_DIFFERENT_RECORD: 90,
    }
    assert {value for value, code in errors.items() if code == KafkaError.INVALID_RECORD} == {
        b"%d" % number for number in range(7, 100, 10)
    }


def test_librdkafka_reads_on_behind_a_repaired_batch(broker: BrokerProcess) -> None:
    create(broker, "t")
    produce(broker, "t", b"one", b"two", b"three", timestamp=int(time.time() * 1000))
    broker.stop()
    (segment,) = (broker.data / "t-0").glob("*.log")
    stored = bytearray(segment.read_bytes())
    size = batch_size(stored)
    second = bytearray(stored[size : size + batch_size(stored, size)])
    second[HEADER_SIZE:] = b"\xff" * (len(second) - HEADER_SIZE)
    patch_crc(second)
    stored[size : size + len(second)] = second
    segment.write_bytes(stored)
    assert len(list(repair_log(OsDisk(), str(broker.data / "t-0"), 0))) == 1
    broker.start()
    assert read(broker, "t", 2) == [b"one", b"three"]

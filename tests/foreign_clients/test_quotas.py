"""Producers and consumers of other libraries are held to their quotas."""

import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from barnabas import Admin
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

RATE = 400_000
RECORD = b"x" * 10_000
SETTINGS = {"quota.window.num": "2"}
"""A client may use one second's worth at once."""


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[str]:
    """A broker on which the client ids `app` may produce and fetch at `RATE`."""
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topic("t", partitions=1)
            limits = {"producer_byte_rate": RATE, "consumer_byte_rate": RATE}
            admin.set_quotas(limits, client_id="app")
            assert [(quota.entity.client_id, quota.limits) for quota in admin.quotas()] == [
                ("app", limits)
            ]
        yield broker.bootstrap


def within_quota(size: int, seconds: float) -> bool:
    """Whether that is no more than the quota; at its end a client may be ahead by one second."""
    return size < 1.15 * RATE * seconds + RATE


def test_confluent_kafka(limited: str) -> None:
    throttles: list[float] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": limited,
            "client.id": "app",
            "throttle_cb": lambda event: throttles.append(event.throttle_time),
            "linger.ms": 5,
            "batch.size": 50_000,
        }
    )
    others: list[float] = []
    other = confluent_kafka.Producer(
        {
            "bootstrap.servers": limited,
            "client.id": "other",
            "throttle_cb": lambda event: others.append(event.throttle_time),
        }
    )
    began = time.monotonic()
    size = 0
    last = began
    while time.monotonic() < began + 6 or max(throttles, default=0) < 0.05:
        for _ in range(10):
            producer.produce("t", RECORD)
        assert producer.flush(LIMIT_S) == 0
        size += 10 * len(RECORD)
        last = time.monotonic()
        other.produce("t", b"small")
        assert other.flush(LIMIT_S) == 0
    assert within_quota(size, last - began), (size, last - began)
    assert not any(others), "another client was slowed down"

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": limited,
            "client.id": "app",
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "max.partition.fetch.bytes": 100_000,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition("t", 0, 0)])
    began = time.monotonic()
    size = 0
    while time.monotonic() < began + 5:
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None
            size += len(message.value())
            last = time.monotonic()
    consumer.close()
    assert within_quota(size, last - began), (size, last - began)


def test_kafka_python(limited: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=limited, client_id="app")
    size = 0
    began = time.monotonic()
    while time.monotonic() < began + 5:
        producer.send("t", RECORD).get(60)
        size += len(RECORD)
    took = time.monotonic() - began
    producer.close()
    assert within_quota(size, took), (size, took)

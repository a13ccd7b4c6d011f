"""`metrics()` of producers and consumers, in both faces: counts, lag, the text of Prometheus."""

import asyncio
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

import barnabas
import barnabas.aio
from barnabas import TopicPartition
from barnabas.client.connect.traffic import WINDOW_S, RecentAverage
from barnabas.client.metrics.definitions import definitions
from barnabas.errors import DeliveryFailed
from tests.support.wait import wait_until


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"metrics-{uuid4()}"
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, partitions=2)
    return name


def read(consumer: barnabas.Consumer, count: int) -> None:
    seen = 0
    while seen < count:
        seen += len(consumer.poll(max_records=count - seen))


def test_a_producer_counts_records_batches_and_requests(bootstrap: str, topic: str) -> None:
    with barnabas.Producer(bootstrap, client_id="counted", buffer_bytes=1_000_000) as producer:
        before = producer.metrics()
        assert before["record-send-total"] == 0
        assert "request-latency-avg" not in before  # nothing was measured
        for number in range(100):
            producer.send(topic, b"x" * 100, partition=number % 2)
        producer.flush()
        metrics = producer.metrics()
        assert metrics["record-send-total"] == 100
        assert metrics["record-error-total"] == metrics["record-retry-total"] == 0
        assert 0 < metrics["records-per-request-avg"] <= 100
        assert 100 < metrics["batch-size-avg"] <= metrics["batch-size-max"] < 100 * 200
        assert 0 < metrics["request-latency-avg"] <= metrics["request-latency-max"]
        assert 0 <= metrics["record-queue-time-avg"] <= metrics["record-queue-time-max"]
        assert metrics["outgoing-byte-total"] > 100 * 100
        assert metrics["incoming-byte-total"] > 0
        assert metrics["request-total"] == metrics["response-total"] > 0
        assert metrics["requests-in-flight"] == 0
        assert metrics["connection-creation-total"] >= metrics["connection-count"] > 0
        assert metrics["buffer-total-bytes"] == metrics["buffer-available-bytes"] == 1_000_000


def test_a_record_larger_than_the_buffer_leaves_no_room(bootstrap: str, topic: str) -> None:
    with barnabas.Producer(bootstrap, buffer_bytes=1_000, linger_ms=60_000) as producer:
        producer.send(topic, b"x" * 5_000)
        assert producer.metrics()["buffer-available-bytes"] == 0
        producer.flush()
        assert producer.metrics()["buffer-available-bytes"] == 1_000


def test_a_producer_counts_what_it_gave_up(bootstrap: str) -> None:
    name = f"small-{uuid4()}"
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, configs={"max.message.bytes": "1000"})
    producer = barnabas.Producer(bootstrap)
    producer.send(name, b"x" * 5000)
    with pytest.raises(DeliveryFailed):
        producer.close()
    assert producer.metrics()["record-error-total"] == 1
    assert producer.metrics()["connection-count"] == 0


def test_a_consumer_counts_records_and_knows_its_lag(bootstrap: str, topic: str) -> None:
    with barnabas.Producer(bootstrap) as producer:
        for number in range(20):
            producer.send(topic, b"x" * 100, partition=number % 2)
    with barnabas.Consumer(bootstrap, topic, group=f"g-{uuid4()}") as consumer:
        assert consumer.metrics()["assigned-partitions"] == 0
        read(consumer, 5)

        def all_fetched() -> bool:
            return len(consumer.metrics().partitions) == 2

        wait_until(all_fetched, "a partition was not fetched")
        lags = {name: each["records-lag"] for name, each in consumer.metrics().partitions.items()}
        assert set(lags) == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
        assert sum(lags.values()) == 15
        assert consumer.metrics()["records-lag-max"] == max(lags.values())
        read(consumer, 15)
        consumer.commit()
        metrics = consumer.metrics()
        assert metrics["records-consumed-total"] == 20
        assert metrics["bytes-consumed-total"] > 20 * 100
        assert metrics["records-lag-max"] == 0
        assert metrics["assigned-partitions"] == 2
        assert metrics["rebalance-total"] == 1
        assert metrics["commit-total"] >= 1
        assert metrics["fetch-total"] >= 1
        assert 0 < metrics["commit-latency-avg"] <= metrics["commit-latency-max"]
        assert 0 < metrics["fetch-latency-avg"] <= metrics["fetch-latency-max"]


@pytest.mark.parametrize("kind", ["tables", "streams"])
def test_every_way_of_reading_is_counted(bootstrap: str, topic: str, kind: str) -> None:
    with barnabas.Producer(bootstrap) as producer:
        for _ in range(10):
            producer.send(topic, b"x")
    with barnabas.Consumer(bootstrap, topic) as consumer:
        if kind == "tables":
            rows = 0
            while rows < 10:
                rows += consumer.poll_table().num_rows
        else:
            (stream,) = consumer.streams(1)
            for _ in range(10):
                next(iter(stream))
        assert consumer.metrics()["records-consumed-total"] == 10
        assert "commit-total" not in consumer.metrics()  # it has no group


def test_the_faces_for_asyncio_have_them_too(bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async with barnabas.aio.Producer(bootstrap) as producer:
            await (await producer.send(topic, b"x"))
            assert producer.metrics()["record-send-total"] == 1
        async with barnabas.aio.Consumer(bootstrap, topic) as consumer:
            while not await consumer.poll():
                pass
            assert consumer.metrics()["records-consumed-total"] == 1

    asyncio.run(asyncio.wait_for(main(), 120))


def test_the_text_of_prometheus_has_all_of_them(bootstrap: str, topic: str) -> None:
    with (
        barnabas.Producer(bootstrap, client_id="one") as producer,
        barnabas.Consumer(
            bootstrap, topic, client_id='t"wo', group=f"g-{uuid4()}", commit="manual"
        ) as consumer,
    ):
        producer.send(topic, b"x").result()
        read(consumer, 1)
        consumer.commit()
        of_producer = producer.metrics().prometheus(service="shop")
        of_consumer = consumer.metrics().prometheus()
    families = {
        each.name: each
        for text in (of_producer, of_consumer)
        for each in text_string_to_metric_families(text)
    }
    (sent,) = families["kafka_producer_producer_metrics_record_send"].samples
    assert sent.labels == {"client_id": "one", "service": "shop"}
    assert sent.value == 1
    lags = families["kafka_consumer_consumer_fetch_manager_metrics_records_lag"]
    assert lags.type == "gauge"
    assert lags.samples[0].labels["client_id"] == 't"wo'
    assert lags.samples[0].labels["topic"] == topic
    maybe = {"heartbeat-response-time-max"}  # no heartbeat may have been due
    missing = {
        each.name
        for each in definitions()
        if each.exposed.name.removesuffix("_total") not in families
    }
    assert missing <= maybe


def test_recent_values_are_those_of_two_windows() -> None:
    found = RecentAverage()
    assert found.average(0.0) is None
    found.observe(10.0, at=1000.0)
    found.observe(20.0, at=1001.0)
    assert (found.average(1002.0), found.maximum(1002.0)) == (15.0, 20.0)
    found.observe(3.0, at=1001.0 + WINDOW_S)
    assert (found.average(1040.0), found.maximum(1040.0)) == (11.0, 20.0)
    assert found.maximum(1001.0 + 2.5 * WINDOW_S) == 3.0
    assert found.average(1001.0 + 4 * WINDOW_S) is None
    found.observe(1.0, at=5000.0)
    assert (found.count, found.maximum(5000.0)) == (4, 1.0)

"""The yardstick itself: it compares right, and both brokers really do what is measured."""

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import BESIDE, CLUSTER, TOPIC, Row
from benchmarks.brokers import BARE, BARNABAS, Contender
from benchmarks.raw_client import RawConnection, check_produced, produce_frame
from benchmarks.single_records import pipeline


def test_a_promise_is_held_to_the_bare_broker() -> None:
    values = {BARNABAS: 3.0, BARE: 2.0}
    assert Row("", "s", values).ratio == 1.5
    assert Row("", "s", values).kept is None
    assert Row("", "s", values, at_most_ratio=1.5).kept is True
    assert Row("", "s", values, at_most_ratio=1.4).kept is False


def test_a_promise_is_held_to_a_limit() -> None:
    assert Row("", "s", {BARNABAS: 1.0}, at_most=1.0).kept is True
    assert Row("", "s", {BARNABAS: 1.1}, at_most=1.0).kept is False
    assert Row("", "s", {BARNABAS: 1.0}).ratio is None


def test_a_cluster_is_compared_with_what_stands_beside_it() -> None:
    values = {CLUSTER: 3.0, BESIDE: 2.0}
    assert Row("", "s", values).ratio == 1.5
    assert Row("", "s", values, at_most=2.9).kept is False
    assert Row("", "s", {CLUSTER: 3.0}, at_most=3.0).kept is True


@pytest.mark.parametrize("name", [BARNABAS, BARE])
def test_what_is_measured_is_really_stored(name: str) -> None:
    frame = produce_frame(TOPIC, b"from afar", partition=1)
    with Contender(name).running(TOPIC, 2) as broker:
        with RawConnection(broker.host, broker.port) as connection:
            check_produced(connection.ask(frame), TOPIC)
            pipeline(connection, frame, count=50, in_flight=8)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(100):
            producer.produce(TOPIC, str(number), partition=1)
        assert producer.flush(10) == 0

        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
        consumer.assign([TopicPartition(TOPIC, 1, 0)])
        read = [message.value() for message in consumer.consume(151, 10)]
        consumer.close()
        assert broker.cpu_s() > 0
    assert read == [b"from afar"] * 51 + [str(number).encode() for number in range(100)]


def test_an_error_of_the_broker_stops_the_measurement() -> None:
    with (
        Contender(BARNABAS).running(TOPIC) as broker,
        RawConnection(broker.host, broker.port) as connection,
        pytest.raises(RuntimeError, match="error 3"),
    ):
        check_produced(connection.ask(produce_frame(TOPIC, b"", partition=7)), TOPIC)

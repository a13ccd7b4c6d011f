"""Producers and consumers of types, against a broker."""

from dataclasses import dataclass

import pytest

import barnabas
from barnabas import TopicPartition, formats
from barnabas.errors import UndecodableRecord
from tests.api.conftest import Fill


@dataclass
class Order:
    id: int
    amount: float


def test_orders_go_in_and_come_out(servers: str, topic_with: Fill) -> None:
    topic = topic_with(0)
    with barnabas.Producer(servers, key=str, value=Order) as producer:
        producer.send(topic, Order(1, 2.5), key="ada")
        with pytest.raises(TypeError, match="value=Order: takes Order, not dict"):
            producer.send(topic, {"id": 1})  # type: ignore[arg-type]
    with barnabas.Consumer(servers, topic, key=str, value=Order) as consumer:
        (message,) = consumer.poll(120)
    assert (message.key, message.value) == ("ada", Order(1, 2.5))


def test_a_record_that_does_not_match_is_named_with_its_field(
    servers: str, topic_with: Fill
) -> None:
    topic = topic_with(0)
    with barnabas.Producer(servers) as plain:
        plain.send(topic, b'{"id":1,"amount":2}')
        plain.send(topic, b'{"id":2,"amount":"much"}')
        plain.send(topic, None)
        plain.send(topic, b'{"id":4,"amount":2}')
    with barnabas.Consumer(servers, topic, value=Order) as consumer:
        assert [each.value for each in consumer.poll(120)] == [Order(1, 2.0)]
        with pytest.raises(UndecodableRecord) as caught:
            consumer.poll(120)
        assert caught.value.field == "amount"
        assert caught.value.message.value == b'{"id":2,"amount":"much"}'
        assert str(caught.value).startswith(
            f"the value of {topic}-0 at offset 1 is not valid: amount: expected a number, got "
            "'much'. To continue"
        )
        consumer.seek(TopicPartition(topic, 0), 2)
        with pytest.raises(UndecodableRecord, match=r"value=formats.optional\(Order\) takes it"):
            consumer.poll(120)
    with barnabas.Consumer(servers, value=formats.optional(Order)) as consumer:
        consumer.assign({TopicPartition(topic, 0): 2})
        assert [each.value for each in consumer.poll(120)] == [None, Order(4, 2.0)]

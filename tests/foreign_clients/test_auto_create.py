"""Topics that are created on demand, where that is allowed."""

from tests.conftest import MakeBroker
from tests.foreign_clients.face import Client


def test_producing_creates_the_topic(client: Client, make_broker: MakeBroker) -> None:
    broker = make_broker(num_partitions="3")
    with client.producer(broker.bootstrap) as producer:
        producer.send("fresh", b"first", partition=2)
        (outcome,) = producer.flush()
    assert (outcome.error, outcome.offset) == (None, 0)
    with client.admin(broker.bootstrap) as admin:
        assert admin.partition_count("fresh") == 3


def test_producing_fails_where_topics_are_not_created(
    client: Client, make_broker: MakeBroker
) -> None:
    broker = make_broker(auto_create_topics_enable="false")
    with client.producer(broker.bootstrap, delivery_timeout_ms=2_000) as producer:
        assert producer.attempt("fresh", b"first") is not None
    with client.admin(broker.bootstrap) as admin:
        assert "fresh" not in admin.topics()

"""Tests of an application with the fixtures that come with Barnabas.

pytest examples/testing

The cluster is real: the killed leader is a killed process.
"""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from barnabas import Cluster
from examples.testing.invoicing import IMPATIENT, Invoicing


@pytest.fixture
def invoices(barnabas_cluster: Cluster, barnabas_topic: str) -> str:
    """A second topic; `barnabas_topic` has the orders."""
    name = f"{barnabas_topic}-invoices"
    barnabas_cluster.create_topic(name)
    return name


@pytest.fixture
def app(barnabas_cluster: Cluster, barnabas_topic: str, invoices: str) -> Iterator[Invoicing]:
    app = Invoicing(barnabas_cluster.bootstrap_servers, barnabas_topic, invoices)
    yield app
    app.close()


def order(cluster: Cluster, topic: str, names: list[str]) -> None:
    """Order these things; when it returns, the orders are stored."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **IMPATIENT})
    for name in names:
        producer.produce(topic, name, key=name)
    assert producer.flush(30) == 0


def read(cluster: Cluster, topic: str) -> list[str]:
    """Everything in a topic of one partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",  # which commits nothing: it reads all, each time
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **IMPATIENT,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while (message := consumer.poll(30)) is not None and not message.error():
        found.append((message.value() or b"").decode())
    consumer.close()
    return found


def test_every_order_has_an_invoice(
    barnabas_cluster: Cluster, barnabas_topic: str, invoices: str, app: Invoicing
) -> None:
    order(barnabas_cluster, barnabas_topic, ["olives", "bread"])
    done = 0
    while done < 2:
        done += app.work()
    assert read(barnabas_cluster, invoices) == ["invoice for olives", "invoice for bread"]


@pytest.mark.barnabas(nodes=3, partitions=3, faults=["kill", "pause"])
def test_no_order_is_forgotten_when_a_leader_is_lost(
    barnabas_cluster: Cluster,
    barnabas_topic: str,
    barnabas_fault: Callable[[], int],
    invoices: str,
    app: Invoicing,
) -> None:
    names = [f"order {number}" for number in range(200)]
    order(barnabas_cluster, barnabas_topic, names[:100])
    while app.work() == 0:
        pass
    barnabas_fault()
    order(barnabas_cluster, barnabas_topic, names[100:])
    deadline = time.monotonic() + 60
    while set(read(barnabas_cluster, invoices)) != {f"invoice for {name}" for name in names}:
        assert time.monotonic() < deadline, "there are orders without an invoice"
        app.work()

"""Applications written with other people's clients, through the loss of a leader."""

import asyncio
import time
from collections.abc import Callable

import aiokafka
import confluent_kafka
import kafka
import pytest

from barnabas.embedded.cluster import Cluster
from tests.support.wait import LIMIT_S

pytestmark = pytest.mark.barnabas(nodes=3)

COUNT = 100
Hurt = Callable[[], object]


def of_confluent(servers: str, topic: str, hurt: Hurt) -> list[bytes]:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(COUNT):
        producer.produce(topic, b"%d" % number)
        if number == COUNT // 2:
            assert producer.flush(LIMIT_S) == 0
            hurt()
    assert producer.flush(LIMIT_S) == 0
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    while len(found) < COUNT:
        message = consumer.poll(60)
        assert message is not None
        if message.error() is None:
            found.append(message.value() or b"")
    consumer.close()
    return found


def of_kafka_python(servers: str, topic: str, hurt: Hurt) -> list[bytes]:
    producer = kafka.KafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
    for number in range(COUNT):
        producer.send(topic, b"%d" % number)
        if number == COUNT // 2:
            producer.flush(LIMIT_S)
            hurt()
    producer.flush(LIMIT_S)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest"
    )
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(found) < COUNT and time.monotonic() < deadline:
        try:
            for records in consumer.poll(1_000).values():
                found += [record.value for record in records]
        except kafka.errors.KafkaConnectionError:
            continue  # it has looked for the group's coordinator where the dead node was
    consumer.close()
    return found


def of_aiokafka(servers: str, topic: str, hurt: Hurt) -> list[bytes]:
    async def produce_and_consume() -> list[bytes]:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True
        ) as producer:
            for number in range(COUNT):
                await producer.send_and_wait(topic, b"%d" % number)
                if number == COUNT // 2:
                    await asyncio.to_thread(hurt)
        async with aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest"
        ) as consumer:
            return [(await consumer.getone()).value or b"" for _ in range(COUNT)]

    return asyncio.run(asyncio.wait_for(produce_and_consume(), 150))


@pytest.mark.parametrize("application", [of_confluent, of_kafka_python, of_aiokafka])
def test_nothing_is_lost_with_the_leader(
    barnabas_cluster: Cluster,
    barnabas_topic: str,
    application: Callable[[str, str, Hurt], list[bytes]],
) -> None:
    def hurt() -> None:
        barnabas_cluster.kill(barnabas_cluster.leader_of(barnabas_topic))

    found = application(barnabas_cluster.bootstrap_servers, barnabas_topic, hurt)
    assert found == [b"%d" % number for number in range(COUNT)]
    assert len(barnabas_cluster.running) == 2

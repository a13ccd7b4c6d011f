"""How CPU per message grows with the number of partitions that the messages are spread over.

Two ways: single-record requests of the raw client, to one partition after the other, which shows
what a partition costs the append; and librdkafka, a producer and a consumer of all partitions at
5,000 records a second, which shows what partitions cost a long poll. There the batches get smaller
as the partitions get more, for any broker, and how much smaller is the client's mood: of all
numbers here this one moves the most from run to run.
"""

import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import Broker, Contender
from benchmarks.raw_client import RawConnection, check_produced, produce_frame

_RATE = 5000
_TICK_S = 0.01
_VALUE = bytes(100)


def measure(bench: Bench) -> list[Row]:
    counts = (1, 1000) if bench.quick else (1, 10, 100, 1000)
    rows = []
    follow_rows = []
    for count in counts:

        def run(contender: Contender, count: int = count) -> dict[str, float]:
            with contender.running(TOPIC, count) as broker:
                followed = follow(broker, count, 2 if bench.quick else 3)
                appended = append(broker, count, 5_000 if bench.quick else 20_000)
            return {"append": 1e6 * appended, "follow": 1e6 * followed}

        values = bench.alternate(f"{count} partitions, CPU us", run, 1)
        label = f"{count:,} partition{'s'[: count > 1]}"
        rows.append(Row(f"CPU per request, {label}", "us", values["append"]))
        follow_rows.append(Row(f"CPU per message in and out, {label}", "us", values["follow"]))
    return rows + follow_rows


def append(broker: Broker, partitions: int, count: int) -> float:
    """Broker CPU per request."""
    frames = [produce_frame(TOPIC, _VALUE, partition) for partition in range(partitions)]
    with RawConnection(broker.host, broker.port) as connection:
        for frame in frames:  # the files come into being
            check_produced(connection.ask(frame), TOPIC)
        before = broker.cpu_s()
        sent, answered = 0, 0
        while answered < count:
            batch = [frames[number % partitions] for number in range(sent, min(sent + 64, count))]
            connection.send(b"".join(batch))
            sent += len(batch)
            while answered < sent:
                answered += len(connection.receive())
        return (broker.cpu_s() - before) / count


def follow(broker: Broker, partitions: int, seconds: int) -> float:
    """Broker CPU per message, produced and consumed at the same time, into an empty topic."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": 1})
    producer.list_topics(TOPIC, 30)
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "b", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(partitions)])
    consumer.consume(1, 1.0)
    count = seconds * _RATE
    sender = threading.Thread(target=_send, args=(producer, partitions, count))
    before = broker.cpu_s()
    sender.start()
    read = 0
    deadline = time.monotonic() + seconds + 30
    while read < count and time.monotonic() < deadline:
        read += sum(message.error() is None for message in consumer.consume(500, 0.05))
    used = broker.cpu_s() - before
    sender.join()
    consumer.close()
    if read < count:
        raise RuntimeError(f"only {read} of {count} records came back")
    return used / count


def _send(producer: Producer, partitions: int, count: int) -> None:
    """Send at a steady rate, a few records at each tick."""
    began = time.perf_counter()
    per_tick = int(_RATE * _TICK_S)
    for first in range(0, count, per_tick):
        for number in range(first, first + per_tick):
            producer.produce(TOPIC, _VALUE, partition=number % partitions)
        producer.poll(0)
        time.sleep(max(0.0, began + first / _RATE - time.perf_counter()))
    producer.flush(30)

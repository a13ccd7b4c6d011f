"""Broker CPU per GB in and per GB out, through librdkafka.

One producer fills an empty partition, then one consumer reads it from the start, so the phases do
not disturb each other. A GB is 10^9 bytes of record values; what counts is user and system time
of the broker's process, not the time on the clock, which is mostly the Python client's.

The promise: in and out together at most 1.5 times what the bare broker takes.
"""

import time

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import Broker, Contender

_PATIENCE_S = 60.0


def measure(bench: Bench) -> list[Row]:
    rows = []
    for size, megabytes in ((100, 60), (1000, 300)):
        count = megabytes * 1_000_000 // size // (3 if bench.quick else 1)

        def run(contender: Contender, size: int = size, count: int = count) -> dict[str, float]:
            with contender.running(TOPIC) as broker:
                taken_in = produce(broker, size, count)
                put_out = consume(broker, count)
            gigabytes = size * count / 1e9
            into, out = taken_in / gigabytes, put_out / gigabytes
            return {"in": into, "out": out, "both": into + out}

        values = bench.alternate(f"throughput, {size} B records, CPU s/GB", run)
        label = f"{size} B records"
        rows += [
            Row(f"CPU per GB in, {label}", "s", values["in"]),
            Row(f"CPU per GB out, {label}", "s", values["out"]),
            Row(f"CPU per GB in and out, {label}", "s", values["both"], at_most_ratio=1.5),
        ]
    return rows


def produce(broker: Broker, size: int, count: int) -> float:
    """Broker CPU seconds for `count` records."""
    producer = Producer({**broker.client, "queue.buffering.max.kbytes": 200_000})
    producer.list_topics(TOPIC, 30)
    before = broker.cpu_s()
    value = bytes(size)
    for _ in range(count):
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(_PATIENCE_S):
        raise RuntimeError("not everything could be produced")
    return broker.cpu_s() - before


def consume(broker: Broker, count: int) -> float:
    """Broker CPU seconds for reading `count` records."""
    consumer = Consumer(
        {
            **broker.client,
            "group.id": "bench",
            "enable.auto.commit": False,
            "queued.max.messages.kbytes": 200_000,
        }
    )
    before = broker.cpu_s()
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    deadline = time.monotonic() + _PATIENCE_S
    read = 0
    while read < count:
        read += sum(message.error() is None for message in consumer.consume(10_000, 0.1))
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {read} of {count} records came back")
    used = broker.cpu_s() - before
    consumer.close()
    return used

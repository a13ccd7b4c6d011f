"""From produce to consume: how long a record travels at a moderate rate.

500 records of 100 B a second through librdkafka without linger, one producer and one consumer in
this process. A record carries the time it was handed to the producer; the time that counts ends
when the consumer has it. Both of librdkafka's own threads are part of the way.
"""

import threading
import time
from statistics import quantiles
from struct import Struct

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import Broker, Contender

_RATE = 500
_WARM_UP = 250
_SENT_AT = Struct(">q92x")  # pads the record to 100 B


def measure(bench: Bench) -> list[Row]:
    seconds = 2 if bench.quick else 6
    rows = []
    for acks, shown in ((1, "1"), (-1, "all")):

        def run(contender: Contender, acks: int = acks) -> dict[str, float]:
            with contender.running(TOPIC) as broker:
                taken_ms = travel(broker, acks, seconds * _RATE + _WARM_UP)[_WARM_UP:]
            cuts = quantiles(taken_ms, n=1000)
            return {"p50": cuts[499], "p99": cuts[989], "p99.9": cuts[998]}

        values = bench.alternate(f"latency, acks={shown}, ms", run, 1 if bench.quick else 2)
        rows += [
            Row(f"Produce to consume, {name}, acks={shown}", "ms", values[name])
            for name in ("p50", "p99", "p99.9")
        ]
    return rows


def travel(broker: Broker, acks: int, count: int) -> list[float]:
    """Milliseconds of each of `count` records."""
    taken_ms: list[float] = []
    ready = threading.Event()

    def read() -> None:
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "b", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        consumer.poll(1.0)
        ready.set()
        deadline = time.monotonic() + 60
        while len(taken_ms) < count and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                (sent_at,) = _SENT_AT.unpack(message.value() or b"")
                taken_ms.append((time.perf_counter_ns() - sent_at) / 1e6)
        consumer.close()

    reader = threading.Thread(target=read)
    reader.start()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "acks": acks})
    producer.list_topics(TOPIC, 30)
    ready.wait()
    began = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
        producer.produce(TOPIC, _SENT_AT.pack(time.perf_counter_ns()))
        producer.poll(0)
    producer.flush(30)
    reader.join()
    if len(taken_ms) < count:
        raise RuntimeError(f"only {len(taken_ms)} of {count} records came back")
    return taken_ms

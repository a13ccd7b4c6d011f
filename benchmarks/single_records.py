"""What a request costs when it carries a single record: the worst case for a broker in Python.

Three ways: the raw client with 64 requests under way (many requests per read of the socket), with
one (a read, a write to the file and an answer for each), and librdkafka with batches of one.
Requests per second are those of the first way, client and broker sharing the machine.

The promise: CPU per request at most 1.5 times what the bare broker takes.
"""

import time

from confluent_kafka import Producer

from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import Broker, Contender
from benchmarks.raw_client import RawConnection, check_produced, produce_frame

_VALUE = bytes(100)


def measure(bench: Bench) -> list[Row]:
    count = 15_000 if bench.quick else 60_000

    def run(contender: Contender) -> dict[str, float]:
        with contender.running(TOPIC) as broker:
            pipelined, seconds = raw(broker, count, in_flight=64)
            alternating, _ = raw(broker, count // 3, in_flight=1)
            return {
                "pipelined": 1e6 * pipelined,
                "one by one": 1e6 * alternating,
                "librdkafka": 1e6 * librdkafka(broker, count),
                "per second": count / seconds,
            }

    values = bench.alternate("single records, CPU us", run)
    label = "CPU per single-record request"
    return [
        Row(f"{label}, 64 under way", "us", values["pipelined"], at_most_ratio=1.5),
        Row(f"{label}, one by one", "us", values["one by one"], at_most_ratio=1.5),
        Row(f"{label}, librdkafka", "us", values["librdkafka"], at_most_ratio=1.5),
        Row("Single-record requests per second", "1/s", values["per second"]),
    ]


def raw(broker: Broker, count: int, in_flight: int) -> tuple[float, float]:
    """Broker CPU per request, and the seconds that all took."""
    frame = produce_frame(TOPIC, _VALUE)
    with RawConnection(broker.host, broker.port) as connection:
        check_produced(connection.ask(frame), TOPIC)
        used, began = broker.cpu_s(), time.perf_counter()
        pipeline(connection, frame, count, in_flight)
        return (broker.cpu_s() - used) / count, time.perf_counter() - began


def pipeline(connection: RawConnection, frame: bytes, count: int, in_flight: int) -> None:
    """Send `frame` so many times, each answer making room for the next."""
    connection.send(frame * in_flight)
    sent, answered = in_flight, 0
    while answered < count:
        answers = connection.receive()
        answered += len(answers)
        more = min(len(answers), count - sent)
        if more:
            connection.send(frame * more)
            sent += more
    check_produced(answers[-1], TOPIC)


def librdkafka(broker: Broker, count: int) -> float:
    """Broker CPU per request."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "acks": 1,
        }
    )
    producer.list_topics(TOPIC, 30)
    before = broker.cpu_s()
    for number in range(count):
        producer.produce(TOPIC, _VALUE)
        if number % 100 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise RuntimeError("not everything could be produced")
    return (broker.cpu_s() - before) / count

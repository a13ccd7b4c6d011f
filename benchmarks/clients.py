"""What a record costs in the client: Barnabas vs. other libraries, in one run.

Thousands of records for each second on the clock, and for each second of CPU of the client's
process, all threads counted. Values of 100 B and of 1 kB, three partitions of one broker, whose
CPU does not count; on a machine of few cores it slows down all clients on the clock.

produce    `send` of one record after the other, until all are acknowledged
outcomes   the same, and the application looks at the offset of each
lists      records handed over many at once, where a library has that
consume    `for message in consumer`, or whatever gives one record after the other
batches    lists of records
tables     Arrow, vs. the best that the others have

Each client is a process of its own. They take turns, and medians are compared. How each library is
set up stands in `benchmarks/libraries`. Consumers are timed from their first record on: joining a
group is not part of it.

The promise: at least what confluent-kafka does, three times what aiokafka and kafka-python do, and
with tables five times what confluent-kafka does.
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.bench import AIOKAFKA, ASYNCIO, CONFLUENT, KAFKA_PYTHON, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic, delete_topic
from benchmarks.libraries.run import (
    CONSUME,
    CONSUME_BATCHED,
    CONSUME_TABLES,
    PRODUCE,
    PRODUCE_BATCHED,
    PRODUCE_OUTCOMES,
    PRODUCE_TABLES,
)

_PARTITIONS = 3
_PATIENCE_S = 180.0
_ROOT = Path(__file__).parents[1]


class Library(NamedTuple):
    """A client, what it can do, and how many records of 100 B keep it busy for about a second."""

    name: str
    module: str
    works: tuple[str, ...]
    records: int


_ORDINARY = (PRODUCE, PRODUCE_OUTCOMES, CONSUME, CONSUME_BATCHED)
LIBRARIES = (
    Library(BARNABAS, "own", _ORDINARY, 600_000),
    Library(ASYNCIO, "own_aio", _ORDINARY, 600_000),
    Library(CONFLUENT, "confluent", (*_ORDINARY, PRODUCE_BATCHED), 600_000),
    Library(AIOKAFKA, "aio_kafka", (*_ORDINARY, PRODUCE_BATCHED), 200_000),
    Library(KAFKA_PYTHON, "kafka_python", _ORDINARY, 60_000),
    Library(BARNABAS, "own", (PRODUCE_TABLES, CONSUME_TABLES), 3_000_000),
)
_NAMES = {
    PRODUCE: "Produce",
    PRODUCE_OUTCOMES: "Produce, outcomes",
    PRODUCE_BATCHED: "Produce, lists",
    PRODUCE_TABLES: "Produce, tables",
    CONSUME: "Consume",
    CONSUME_BATCHED: "Consume, batches",
    CONSUME_TABLES: "Consume, tables",
}
_AIMS = {CONFLUENT: 1.0, AIOKAFKA: 3.0, KAFKA_PYTHON: 3.0}
_AIMS_OF_TABLES = {CONFLUENT: 5.0}
_RIVALS_OF_TABLES = {
    PRODUCE_TABLES: (PRODUCE, PRODUCE_BATCHED),
    CONSUME_TABLES: (CONSUME, CONSUME_BATCHED),
}

Found = Mapping[str, Mapping[str, float]]
"""Thousands of records a second, by work and by library."""


def measure(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for size in (100, 1_000):
        with Contender(BARNABAS).running(TOPIC, _PARTITIONS) as broker:
            on_the_clock, of_cpu = compare(bench, broker, size)
        rows += rows_of(on_the_clock, f"{size} B", "k/s")
        rows += rows_of(of_cpu, f"{size} B", "k/CPU s")
    return rows


def compare(bench: Bench, broker: Broker, size: int) -> tuple[Found, Found]:
    """All libraries in turn, several rounds: medians on the clock, and of CPU."""
    shrink = (size + 300) / 400 * (5 if bench.quick else 1)
    counts = {library: int(library.records / shrink) for library in LIBRARIES}
    for count in set(counts.values()):
        fill(broker, stored(count), size, count)
    seen: defaultdict[str, defaultdict[str, list[tuple[float, float]]]]
    seen = defaultdict(lambda: defaultdict(list))
    for number in range(1, bench.rounds + 1):
        for work, name in _NAMES.items():
            for library, count in counts.items():
                if work not in library.works:
                    continue
                what = f"{name}, {size} B, {library.name}"
                with bench.console.status(f"{what}, round {number} of {bench.rounds}"):
                    speeds = measure_one(broker, library.module, work, size, count)
                shown = f"{speeds[0]:.4g} k/s, {speeds[1]:.4g} k/CPU s"
                bench.console.print(f"  [dim]{what}: {shown}[/]", highlight=False)
                seen[work][library.name].append(speeds)

    def medians(pick: Callable[[tuple[float, float]], float]) -> Found:
        return {
            work: {name: median(map(pick, speeds)) for name, speeds in by_name.items()}
            for work, by_name in seen.items()
        }

    return medians(lambda speeds: speeds[0]), medians(lambda speeds: speeds[1])


def rows_of(found: Found, label: str, unit: str) -> list[Row]:
    """Lines of the table; a task that no client does has none."""
    rows = []
    for work, values in found.items():
        aims = _AIMS if BARNABAS in values else {}
        if work in _RIVALS_OF_TABLES:
            best: dict[str, float] = {}
            for name, value in chain(*(found[each].items() for each in _RIVALS_OF_TABLES[work])):
                if name in (CONFLUENT, AIOKAFKA, KAFKA_PYTHON):
                    best[name] = max(value, best.get(name, 0))
            values, aims = {**best, **values}, _AIMS_OF_TABLES
        rows.append(Row(f"{_NAMES[work]}, {label}", unit, values, at_least_ratios=aims))
    return rows


def measure_one(
    broker: Broker, module: str, work: str, size: int, count: int
) -> tuple[float, float]:
    """Thousands of records for each second on the clock, and of CPU; it is checked that it did."""
    if work.startswith("consume"):
        return run_client(broker, module, work, stored(count), size, count)
    topic = f"{TOPIC}-produced"
    create_topic(broker, topic, _PARTITIONS)
    try:
        speeds = run_client(broker, module, work, topic, size, count)
        found = records_in(broker, topic)
        if found != count + 1:  # the first one gets the client going
            raise RuntimeError(f"{module}, {work}: {found} records instead of {count + 1}")
    finally:
        delete_topic(broker, topic)
    return speeds


def run_client(
    broker: Broker, module: str, work: str, topic: str, size: int, count: int
) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.client_process", module, work, broker.bootstrap]
    done = subprocess.run(
        [*command, topic, str(size), str(count)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_PATIENCE_S,
        check=True,
    )
    seconds, cpu_s = map(float, done.stdout.split())
    return count / seconds / 1000, count / cpu_s / 1000


def stored(count: int) -> str:
    """The topic with so many records, for those who read that many."""
    return f"{TOPIC}-{count}"


def fill(broker: Broker, topic: str, size: int, count: int) -> None:
    """As librdkafka batches them, for all consumers."""
    create_topic(broker, topic, _PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    value = bytes(size)
    for _ in range(count):
        while True:
            with suppress(BufferError):
                producer.produce(topic, value)
                break
            producer.poll(0.01)
    if producer.flush(_PATIENCE_S) or records_in(broker, topic) != count:
        raise RuntimeError("not everything could be produced")


def records_in(broker: Broker, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "bench"})
    try:
        bounds = [
            consumer.get_watermark_offsets(TopicPartition(topic, partition), 30)
            for partition in range(_PARTITIONS)
        ]
    finally:
        consumer.close()
    if None in bounds:
        raise KafkaException(f"no answer about {topic}")
    return sum(end - start for start, end in bounds)

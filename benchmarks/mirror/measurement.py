"""MB a second, CPU per GB and latency of mirrors.

Both brokers are ours, fresh for each mirror. A mirror first copies records to warm up, then a
backlog of 1 kB records in four partitions, which is written while it runs: the time is from the
first record of the backlog to the moment when the last one can be read in the target, the CPU that
of all processes of the mirror. Latency is from the call of the producer in A to the consumer in B
that reads committed records, at a steady rate over two partitions; once of all records, and once
without those that were under way while the machine itself stood still. The first record is there
when the mirror starts, and its time begins with the process. Memory is the most that all processes
of the mirror had at once.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from struct import Struct
from typing import Self

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import kafka_process
from benchmarks.bench import BASELINE, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic
from benchmarks.mirror.pauses import MachinePauses
from benchmarks.mirror.processes import SOURCE, Mirror, mirror

_RATES = {"bench-slow": 20, "bench-steady": 200}
"""Records a second by topic."""
_BACKLOG = "bench-backlog"
_FIRST = "bench-first"
_PARTITIONS = {_BACKLOG: 4, _FIRST: 1, **dict.fromkeys(_RATES, 2)}
_RECORD = 1_000
_WARM_UP_BYTES = 100_000_000
_WARM_UP_S = 15.0
_LOOK_S = 0.2
_TIMEOUT_S = 300.0
_SENT_AT = Struct(">q92x")  # pads the record to 100 B
_UNDISTURBED = "p99 without pauses of the machine"
_UNITS = {
    "MB/s": "MB/s",
    "CPU per GB": "s",
    "At rest": "% of a core",
    "First record": "s",
    "Memory": "MB",
}


def measure(bench: Bench) -> list[Row]:
    names = [BARNABAS]
    if kafka_process.is_available():
        names.append(BASELINE)
    else:
        bench.console.print(f"no Mirror Maker 2: set {kafka_process.JARS}")
    size = 500_000_000 if bench.quick else 2_000_000_000
    seconds = 30 if bench.quick else 120
    seen: dict[str, dict[str, list[float]]] = {}
    for number in range(bench.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            with bench.console.status(f"mirror, round {number + 1}: {name}"):
                for what, value in _measured(name, size, seconds):
                    bench.console.print(f"  [dim]{name}: {what}: {value:.4g}[/]", highlight=False)
                    seen.setdefault(what, {}).setdefault(name, []).append(value)
    return [
        _row(what, {name: median(values) for name, values in by_name.items()})
        for what, by_name in seen.items()
    ]


def _row(what: str, values: dict[str, float]) -> Row:
    unit = _UNITS.get(what, "ms")
    promised_ms = 300.0 if what.endswith("p99") else None
    is_cost = what == "CPU per GB" and BASELINE in values
    return Row(
        f"{what}, vs. Mirror Maker 2" if BASELINE in values else what,
        unit,
        values,
        at_most=promised_ms,
        at_most_ratio=1.0 if is_cost else None,
    )


def _measured(name: str, size: int, seconds: float) -> Iterator[tuple[str, float]]:
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
        Contender(BARNABAS).started() as source,
        Contender(BARNABAS).started() as target,
    ):
        for topic, partitions in _PARTITIONS.items():
            create_topic(source, topic, partitions)
        _produce_first(source)
        began = time.perf_counter()
        with mirror(name, source, target, Path(folder)) as running:
            with _Reader(target, _FIRST) as reader:
                reader.wait(1, running)
            yield "First record", time.perf_counter() - began
            with _Reader(target, _BACKLOG) as reader:
                _copy(source, reader, running, _WARM_UP_BYTES)
                took_s, cpu_s = _copy(source, reader, running, size)
            yield "MB/s", size / took_s / 1e6
            yield "CPU per GB", cpu_s / size * 1e9
            for topic, rate in _RATES.items():
                with MachinePauses() as pauses:
                    travels = _travel(source, target, running, topic, seconds)
                cuts = _percentiles_ms(travels)
                yield f"Latency at {rate} records a second, p50", cuts[49]
                yield f"Latency at {rate} records a second, p99", cuts[98]
                undisturbed = [each for each in travels if not pauses.overlap(*each)]
                if len(undisturbed) > 1:
                    cuts = _percentiles_ms(undisturbed)
                    yield f"Latency at {rate} records a second, {_UNDISTURBED}", cuts[98]
            yield "At rest", 100 * _idle(running, seconds)
            yield "Memory", running.most_bytes / 1e6


def _produce_first(source: Broker) -> None:
    producer = Producer(source.client)
    producer.produce(_FIRST, b"first", partition=0)
    producer.flush()


class _Reader:
    """Counts what can be read of a copied topic, in a thread."""

    def __init__(self, target: Broker, topic: str) -> None:
        self.records = 0
        self.travels: list[tuple[int, int]] = []
        self._is_timed = topic in _RATES
        self._stop = threading.Event()
        self._consumer = Consumer(
            {**target.client, "group.id": "b", "enable.auto.commit": False, "log_level": 2}
        )
        copied = f"{SOURCE}.{topic}"
        self._assigned = [TopicPartition(copied, each, 0) for each in range(_PARTITIONS[topic])]
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _read(self) -> None:
        self._consumer.assign(self._assigned)
        while not self._stop.is_set():
            if not self._is_timed:
                found = self._consumer.consume(10_000, 0.1)
                self.records += sum(each.error() is None for each in found)
                continue
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                (sent_at,) = _SENT_AT.unpack(message.value() or b"")
                self.travels.append((sent_at, time.perf_counter_ns()))
                self.records += 1
        self._consumer.close()

    def wait(self, count: int, running: Mirror) -> None:
        """Until so many records were read."""
        deadline = time.monotonic() + _TIMEOUT_S
        while self.records < count:
            running.check()
            running.cpu_s()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.records} of {count} records were copied")
            time.sleep(_LOOK_S)


def _copy(source: Broker, reader: _Reader, running: Mirror, size: int) -> tuple[float, float]:
    """Seconds, and seconds of CPU, until so many bytes more are in the target."""
    count = size // _RECORD
    wanted = reader.records + count
    began, before_s = time.perf_counter(), running.cpu_s()
    producer = Producer({**source.client, "linger.ms": 20, "acks": 1, "batch.num.messages": 500})
    value = bytes(range(250)) * (_RECORD // 250)
    for number in range(count):
        while True:
            try:
                producer.produce(_BACKLOG, value, partition=number % _PARTITIONS[_BACKLOG])
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()
    reader.wait(wanted, running)
    return time.perf_counter() - began, running.cpu_s() - before_s


def _travel(
    source: Broker, target: Broker, running: Mirror, topic: str, seconds: float
) -> list[tuple[int, int]]:
    """When each record of the last `seconds` was sent and read, in nanoseconds."""
    rate = _RATES[topic]
    count, left_out = round(rate * (seconds + _WARM_UP_S)), round(rate * _WARM_UP_S)
    with _Reader(target, topic) as reader:
        producer = Producer({**source.client, "linger.ms": 0})
        began = time.perf_counter()
        for number in range(count):
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
            value = _SENT_AT.pack(time.perf_counter_ns())
            producer.produce(topic, value, partition=number % _PARTITIONS[topic])
            producer.poll(0)
        producer.flush()
        reader.wait(count, running)
        return reader.travels[left_out:]


def _percentiles_ms(travels: list[tuple[int, int]]) -> list[float]:
    return quantiles(((read_at - sent_at) / 1e6 for sent_at, read_at in travels), n=100)


def _idle(running: Mirror, seconds: float) -> float:
    """How much of a core it takes with nothing to copy."""
    began, before_s = time.perf_counter(), running.cpu_s()
    while time.perf_counter() < began + seconds:
        time.sleep(_LOOK_S)
        running.cpu_s()
    return (running.cpu_s() - before_s) / (time.perf_counter() - began)

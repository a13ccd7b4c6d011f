"""What idempotence and transactions cost, vs. a producer without them, in the same run.

Throughput: one producer (librdkafka, acks=all) fills three partitions with 1 kB records as fast as
it can, plain, idempotent, and in transactions of 100 ms or of 1,000 records. MB of values a second
on the clock until the last commit; and CPU of the broker for each GB.

A small transaction is one record: from its begin until the commit is acknowledged, one after the
other. librdkafka speaks the older generation of the protocol (the client adds the partition, the
broker asks whether it has), our own client the newer one (the broker adds it). The baseline is a
record that is sent and acknowledged without a transaction, by the same client.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

from confluent_kafka import Producer

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.producer.record_producer import RecordProducer
from benchmarks.bench import BASELINE, TOPIC, Bench, Row, Values
from benchmarks.brokers import BARE, Broker, Contender

_SIZE = 1000
_PARTITIONS = 3
_VALUE = bytes(_SIZE)
_WARM_UP = 50
_PATIENCE_S = 60

PLAIN = "plain"
IDEMPOTENT = "idempotent"
BY_TIME = "transactions of 100 ms"
BY_COUNT = "transactions of 1,000 records"
_MODES: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {},
    IDEMPOTENT: {"enable.idempotence": True},
    BY_TIME: {"transactional.id": "by-time"},
    BY_COUNT: {"transactional.id": "by-count"},
}


def measure(bench: Bench) -> list[Row]:
    bench = bench.only(*(c.name for c in bench.contenders if c.name != BARE))
    megabytes, count = (60, 250) if bench.quick else (300, 1000)

    def fill(contender: Contender) -> Values:
        values = {}
        for mode in _MODES:
            with contender.running(TOPIC, _PARTITIONS) as broker:
                speed, cpu_s = throughput(broker, mode, megabytes)
            values |= {f"{mode} MB/s": speed, f"{mode} CPU s/GB": cpu_s}
        return values

    def small(contender: Contender) -> Values:
        with contender.running(TOPIC, _PARTITIONS) as broker:
            return (
                _latency("older", *one_by_one(broker, count))
                | _latency("older baseline", *single_records(broker, count))
                | _latency("newer", *own_one_by_one(broker, count, transactional=True))
                | _latency("newer baseline", *own_one_by_one(broker, count, transactional=False))
            )

    filled = bench.alternate("transactions, throughput", fill)
    ended = bench.alternate("transactions of one record", small)
    rows = []
    for mode in (IDEMPOTENT, BY_TIME, BY_COUNT):
        for unit, what in (("MB/s", "Throughput"), ("CPU s/GB", "Broker CPU per GB")):
            values = filled[f"{mode} {unit}"] | baseline(filled[f"{PLAIN} {unit}"])
            rows.append(Row(f"{what}, {mode} vs. plain", unit.removeprefix("CPU "), values))
    for generation, who in (("older", "librdkafka"), ("newer", "own client")):
        for key, what, unit in (
            ("p50", "Transaction of one record, p50", "ms"),
            ("p99", "Transaction of one record, p99", "ms"),
            ("CPU", "Broker CPU per transaction of one record", "us"),
        ):
            values = ended[f"{generation} {key}"] | baseline(ended[f"{generation} baseline {key}"])
            rows.append(Row(f"{what}, {who}, vs. none", unit, values))
    return rows


def baseline(values: Mapping[str, float]) -> Values:
    """The first contender's figure, which is Barnabas's own, to compare with."""
    return {BASELINE: next(iter(values.values()))}


# -- throughput ------------------------------------------------------------------------------------


def throughput(broker: Broker, mode: str, megabytes: int) -> tuple[float, float]:
    """MB a second, and CPU seconds of the broker for each GB."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "acks": "all",
            "queue.buffering.max.kbytes": 200_000,
            "log_level": 2,
            **_MODES[mode],
        }
    )
    if "transactional.id" in _MODES[mode]:
        producer.init_transactions(_PATIENCE_S)
    fill_up(producer, mode, _PARTITIONS)  # what happens once in a producer's life has happened
    count = megabytes * 1_000_000 // _SIZE
    used, began = broker.cpu_s(), time.perf_counter()
    fill_up(producer, mode, count)
    took_s = time.perf_counter() - began
    return megabytes / took_s, (broker.cpu_s() - used) / (megabytes / 1000)


def fill_up(producer: Producer, mode: str, count: int) -> None:
    """Send so many records, each partition in turn, and wait until all are there."""
    if mode == BY_TIME:
        in_transactions(producer, count, count, every_s=0.1)
    elif mode == BY_COUNT:
        in_transactions(producer, count, 1_000)
    else:
        for number in range(count):
            send(producer, number)
        if producer.flush(_PATIENCE_S):
            raise RuntimeError("not everything could be produced")


def in_transactions(producer: Producer, count: int, every: int, every_s: float = 1e9) -> None:
    sent = 0
    while sent < count:
        producer.begin_transaction()
        end, ends_at = min(sent + every, count), time.perf_counter() + every_s
        while sent < end and time.perf_counter() < ends_at:
            send(producer, sent)
            sent += 1
        producer.commit_transaction(_PATIENCE_S)


def send(producer: Producer, number: int) -> None:
    while True:
        try:
            producer.produce(TOPIC, _VALUE, partition=number % _PARTITIONS)
            return
        except BufferError:
            producer.poll(0.01)


# -- small transactions ----------------------------------------------------------------------------


def _latency(name: str, taken_ms: list[float], cpu_us: float) -> Values:
    cuts = quantiles(taken_ms, n=100)
    return {f"{name} p50": median(taken_ms), f"{name} p99": cuts[98], f"{name} CPU": cpu_us}


def one_by_one(broker: Broker, count: int) -> tuple[list[float], float]:
    """Milliseconds of each of `count` transactions, and the broker's CPU for each in us."""
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "small", "linger.ms": 0}
    )
    producer.init_transactions(_PATIENCE_S)

    def transaction(number: int) -> None:
        producer.begin_transaction()
        producer.produce(TOPIC, _VALUE, partition=number % _PARTITIONS)
        producer.commit_transaction(_PATIENCE_S)

    watch = _Watch(broker)
    for number in range(count + _WARM_UP):
        with watch.lap(number >= _WARM_UP):
            transaction(number)
    return watch.result()


def single_records(broker: Broker, count: int) -> tuple[list[float], float]:
    """The same without transactions."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "acks": "all"})
    watch = _Watch(broker)
    for number in range(count + _WARM_UP):
        with watch.lap(number >= _WARM_UP):
            producer.produce(TOPIC, _VALUE, partition=number % _PARTITIONS)
            producer.flush(_PATIENCE_S)
    return watch.result()


def own_one_by_one(broker: Broker, count: int, *, transactional: bool) -> tuple[list[float], float]:
    """The same with our own client."""

    async def run() -> tuple[list[float], float]:
        name = "own" if transactional else None
        async with (
            ClusterClient(broker.bootstrap) as cluster,
            RecordProducer(cluster, linger_ms=0, transactional_id=name) as producer,
        ):
            watch = _Watch(broker)
            for number in range(count + _WARM_UP):
                with watch.lap(number >= _WARM_UP):
                    if transactional:
                        async with producer.transaction():
                            await producer.send(TOPIC, _VALUE, partition=number % _PARTITIONS)
                    else:
                        await producer.send(TOPIC, _VALUE, partition=number % _PARTITIONS)
                        await producer.flush()
            return watch.result()

    return asyncio.run(run())


class _Watch:
    """Times laps, of which the first ones don't count."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._taken_ms: list[float] = []
        self._used = 0.0

    @contextmanager
    def lap(self, counts: bool) -> Iterator[None]:
        if counts and not self._taken_ms:
            self._used = self._broker.cpu_s()
        began = time.perf_counter()
        yield
        if counts:
            self._taken_ms.append((time.perf_counter() - began) * 1000)

    def result(self) -> tuple[list[float], float]:
        used = self._broker.cpu_s() - self._used
        return self._taken_ms, 1e6 * used / len(self._taken_ms)

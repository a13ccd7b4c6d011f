"""Jobs through a queue, each acknowledged by itself: share groups, vs. a real Kafka and RabbitMQ.

Jobs of 100 B are there before the consumers start; 1, 8 and 64 of them, each with its own
connections and a prefetch of 16, take them and accept one by one. Measured are jobs a second from
the first to the last that was accepted, CPU of the broker for 1,000 of them, and in a second run,
at 200 jobs a second with 8 consumers, the time from sending a job to the answer to its acceptance.

All consumers are threads of this process, as is the producer, so at some point they are what is
measured: the same ones for Barnabas and Kafka (`barnabas.Queue`), pika for RabbitMQ. RabbitMQ has
one durable queue, persistent messages, publisher confirms and manual acknowledgements, which it
does not answer: its time ends when the acknowledgement is written.

Kafka needs BARNABAS_KAFKA_JARS, RabbitMQ `rabbitmq-server` and pika; without, they are left out.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median, quantiles
from struct import Struct
from typing import Any, Protocol

import barnabas
from barnabas import QueueMessage
from benchmarks import kafka_process, rabbitmq_process
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender, create_topic
from benchmarks.rabbitmq_process import RABBITMQ, RabbitMq, rabbitmq

CONSUMERS = (1, 8, 64)
_PARTITIONS = 8
_PREFETCH = 16
_RATE = 200
_WARM_UP = 100
_SENT_AT = Struct(">q92x")  # pads the record to 100 B
_TIMEOUT_S = 120.0
_SETTLE_S = 1.0
"""Kafka acknowledges a new topic a little before it takes records for it."""


class Accepted:
    """Counts what was accepted, by all consumers together, and when."""

    def __init__(self, count: int) -> None:
        self.all = threading.Event()
        self.taken_ms: list[float] = []
        self.first = self.last = 0.0
        self._count = count
        self._left = count
        self._lock = threading.Lock()

    def add(self, sent_at: int) -> None:
        now = time.perf_counter_ns()
        with self._lock:
            self.taken_ms.append((now - sent_at) / 1e6)
            self.first = self.first or now / 1e9
            self.last = now / 1e9
            self._left -= 1
            if self._left <= 0:
                self.all.set()

    def wait(self) -> None:
        if not self.all.wait(_TIMEOUT_S):
            raise RuntimeError(f"{self._left} of {self._count} jobs were not accepted")


class System(Protocol):
    """A broker with a queue in it."""

    def cpu_s(self) -> float: ...

    def send(self, jobs: Iterator[None], count: int) -> None: ...

    def consume(self, stop: threading.Event, accepted: Accepted) -> None: ...


class ShareGroup:
    """A topic, and a share group on it."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.cpu_s = broker.cpu_s
        self._servers = broker.bootstrap
        self._name = f"{TOPIC}-{name}"
        create_topic(broker, self._name, _PARTITIONS)
        time.sleep(_SETTLE_S)

    def send(self, jobs: Iterator[None], count: int) -> None:
        with barnabas.Producer(self._servers, linger_ms=0) as producer:
            for number, _ in zip(range(count), jobs, strict=False):
                value = _SENT_AT.pack(time.perf_counter_ns())
                producer.send(self._name, value, partition=number % _PARTITIONS)

    def consume(self, stop: threading.Event, accepted: Accepted) -> None:
        with barnabas.Queue(
            self._servers, self._name, group=self._name, prefetch=_PREFETCH
        ) as queue:
            while not stop.is_set():
                job = queue.get(0.2)
                if job is not None:
                    job.accept().future.add_done_callback(_counter(accepted, job))


def _counter(accepted: Accepted, job: QueueMessage) -> Callable[[Any], None]:
    (sent_at,) = _SENT_AT.unpack(job.value)

    def count(future: Any) -> None:
        if future.exception() is None:
            accepted.add(sent_at)

    return count


class RabbitQueue:
    """A durable queue."""

    def __init__(self, broker: RabbitMq, name: str) -> None:
        self.cpu_s = broker.cpu_s
        self._port = broker.port
        self._name = name
        with self._connected() as channel:
            channel.queue_declare(name, durable=True)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        import pika

        connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", self._port))
        try:
            yield connection.channel()
        finally:
            connection.close()

    def send(self, jobs: Iterator[None], count: int) -> None:
        import pika

        persistent = pika.BasicProperties(delivery_mode=2)
        with self._connected() as channel:
            channel.confirm_delivery()
            for _, _ in zip(range(count), jobs, strict=False):
                value = _SENT_AT.pack(time.perf_counter_ns())
                channel.basic_publish("", self._name, value, persistent)

    def consume(self, stop: threading.Event, accepted: Accepted) -> None:
        with self._connected() as channel:
            channel.basic_qos(prefetch_count=_PREFETCH)
            for method, _, value in channel.consume(self._name, inactivity_timeout=0.2):
                if stop.is_set():
                    break
                if method is not None:
                    channel.basic_ack(method.delivery_tag)
                    accepted.add(_SENT_AT.unpack(value)[0])


def measure(bench: Bench) -> list[Row]:
    names = [BARNABAS]
    if kafka_process.is_available():
        names.append(BASELINE)
    else:
        bench.console.print(f"no Kafka: set {kafka_process.JARS}")
    if rabbitmq_process.is_available():
        names.append(RABBITMQ)
    else:
        bench.console.print("no RabbitMQ: install rabbitmq-server and pika")
    count = 1_000 if bench.quick else 10_000
    rounds = 1 if bench.quick else 3
    seen: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            with _started(name) as make:
                for what, value in _measured(make, count):
                    bench.console.print(f"  [dim]{name}: {what}: {value:.4g}[/]", highlight=False)
                    seen.setdefault(what, {}).setdefault(name, []).append(value)
    return [
        Row(what, _unit(what), {name: median(values) for name, values in by_name.items()})
        for what, by_name in seen.items()
    ]


def _unit(what: str) -> str:
    return "ms" if what.startswith("Send") else "s" if what.startswith("CPU") else "1/s"


@contextmanager
def _started(name: str) -> Iterator[Callable[[str], System]]:
    with ExitStack() as stack:
        if name == RABBITMQ:
            node = stack.enter_context(rabbitmq())
            yield lambda run: RabbitQueue(node, run)
            return
        if name == BARNABAS:
            settings = {"share.coordinator.state.topic.num.partitions": "1"}
            broker = stack.enter_context(Contender(BARNABAS).started(settings=settings))
        else:
            broker = stack.enter_context(kafka_process.kafka({}, {}))
        _run(ShareGroup(broker, "warm-up"), 8, 2_000, at_rate=False)
        yield lambda run: ShareGroup(broker, run)


def _measured(make: Callable[[str], System], count: int) -> Iterator[tuple[str, float]]:
    for consumers in CONSUMERS:
        system = make(f"run-{consumers}")
        accepted, cpu_s = _run(system, consumers, count, at_rate=False)
        took_s = accepted.last - accepted.first
        yield f"Jobs, {consumers} consumers", len(accepted.taken_ms) / took_s
        yield f"CPU of 1,000 jobs, {consumers} consumers", cpu_s / len(accepted.taken_ms) * 1000
    accepted, _ = _run(make("run-rate"), 8, count // 5 + _WARM_UP, at_rate=True)
    cuts = quantiles(accepted.taken_ms[-(count // 5) :], n=100)
    yield "Send to accepted, p50", cuts[49]
    yield "Send to accepted, p99", cuts[98]


def _run(system: System, consumers: int, count: int, *, at_rate: bool) -> tuple[Accepted, float]:
    """Take so many jobs; what was accepted, and the CPU of the broker for that."""
    stop, accepted = threading.Event(), Accepted(count)
    threads = [
        threading.Thread(target=system.consume, args=(stop, accepted)) for _ in range(consumers)
    ]
    if not at_rate:
        system.send(_at_once(), count)
    before_s = system.cpu_s()
    for each in threads:
        each.start()
    if at_rate:
        time.sleep(3)  # all have joined
        system.send(_in_time(), count)
    try:
        accepted.wait()
        return accepted, system.cpu_s() - before_s
    finally:
        stop.set()
        for each in threads:
            each.join()


def _at_once() -> Iterator[None]:
    while True:
        yield None


def _in_time() -> Iterator[None]:
    began, number = time.perf_counter(), 0
    while True:
        time.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
        number += 1
        yield None

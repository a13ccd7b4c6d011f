"""Failover: `kill -9` of a partition's leader, until the next acknowledged write and the next read.

Three nodes, a topic of three partitions with three replicas, librdkafka with default settings
(`acks=all`), a record to each partition every 5 ms; the leader of one partition is killed. (With a
single partition, a client that happens to be connected to its leader only does not ask for another
before a timer of its own, up to a second later.)

The clock starts when the signal is sent. What counts is the first record *sent after that* which
is acknowledged, and the first such record that a consumer has got: what was under way before says
nothing. Between kills the node comes back and catches up. Sometimes the leader that is killed is
the controller too. Each kill has clients of its own: one that lost the same broker a moment ago
would wait up to ten seconds before it connects to it again, whatever the cluster does.

The promise: under a second, at the 99th percentile of 20 kills.
"""

import threading
import time
from bisect import bisect_left
from functools import partial
from itertools import count
from statistics import quantiles
from typing import Self

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import three_nodes, until

_EVERY_S = 0.005
_PARTITIONS = 3
_WARM_UP_S = 1.5
_PATIENCE_S = 60.0


def measure(bench: Bench) -> list[Row]:
    kills = 5 if bench.quick else 20
    acked_ms: list[float] = []
    read_ms: list[float] = []
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, _PARTITIONS)
        for number in range(1, kills + 1):
            cluster.wait_until_whole()
            partition = number % _PARTITIONS
            leader = cluster.leader_of(TOPIC, partition)
            is_controller = leader is cluster.controller()
            with Traffic(cluster.bootstrap, TOPIC, partition, _PARTITIONS) as traffic:
                time.sleep(_WARM_UP_S + 0.05 * number)  # clients' timers shall stand anywhere
                began = time.perf_counter()
                leader.kill()
                acked_s, read_s = traffic.next_after(began)
            acked_ms.append(acked_s * 1000)
            read_ms.append(read_s * 1000)
            bench.console.print(
                f"  [dim]failover, kill {number} of {kills}: acknowledged after "
                f"{acked_ms[-1]:.0f} ms, read after {read_ms[-1]:.0f} ms"
                f"{', the controller too' if is_controller else ''}[/]",
                highlight=False,
            )
            leader.start()
    return _rows("acknowledged write", acked_ms) + _rows("consumed record", read_ms)


def _rows(what: str, taken_ms: list[float]) -> list[Row]:
    cuts = quantiles(taken_ms, n=100, method="inclusive")
    named = {"p50": cuts[49], "p99": cuts[98], "max": max(taken_ms)}
    return [
        Row(
            f"Leader killed: next {what}, {name}",
            "ms",
            {CLUSTER: value},
            at_most=1000 if name == "p99" else None,
        )
        for name, value in named.items()
    ]


class Traffic:
    """A producer and a consumer of all partitions.

    They note when each record of one of them was sent, acknowledged and read.
    """

    def __init__(self, bootstrap: str, topic: str, partition: int, partitions: int) -> None:
        self._topic, self._partition = topic, partition
        self._partitions = range(partitions)
        self._bootstrap = bootstrap
        self._running = threading.Event()
        self._sent: list[float] = []
        self._acked: dict[int, float] = {}
        self._read: dict[int, float] = {}
        self._threads = [threading.Thread(target=run) for run in (self._produce, self._consume)]

    def __enter__(self) -> Self:
        self._running.set()
        for thread in self._threads:
            thread.start()
        until(lambda: self._read, _PATIENCE_S, "the first read")
        return self

    def __exit__(self, *_: object) -> None:
        self._running.clear()
        for thread in self._threads:
            thread.join()

    def next_after(self, event: float) -> tuple[float, float]:
        """Seconds from `event` to the first acknowledgement and read of what was sent later."""
        return self._first(self._acked, event), self._first(self._read, event)

    def _first(self, seen: dict[int, float], event: float) -> float:
        def later() -> list[float]:
            first = bisect_left(self._sent, event)
            return [at for number, at in list(seen.items())[-2000:] if number >= first]

        until(later, _PATIENCE_S, "failover")
        return min(later()) - event

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 2})

        def delivered(error: object, _: object, number: int) -> None:
            if error is None:
                self._acked[number] = time.perf_counter()

        began = time.perf_counter()
        for number in count():
            while (wait_s := began + number * _EVERY_S - time.perf_counter()) > 0:
                producer.poll(wait_s)
            if not self._running.is_set():
                break
            self._sent.append(time.perf_counter())
            for p in self._partitions:
                told = partial(delivered, number=number) if p == self._partition else None
                producer.produce(self._topic, str(number), partition=p, on_delivery=told)
        producer.flush(10)

    def _consume(self) -> None:
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "failover", "log_level": 2}
        )
        consumer.assign([TopicPartition(self._topic, p, OFFSET_END) for p in self._partitions])
        while self._running.is_set():
            message = consumer.poll(0.2)
            if message is None or message.error() is not None:
                continue
            if message.partition() == self._partition:
                self._read.setdefault(int(message.value() or b"-1"), time.perf_counter())
        consumer.close()

"""What replicas cost: `acks=all` with three replicas vs. one, on the same three nodes.

Throughput: one producer (librdkafka, default settings) fills one partition with 1 kB records, as
fast as it can; MB of values per second on the clock until the last acknowledgement. Latency: 500
records a second without linger, from handing over to acknowledgement. All three nodes and the
client share this machine, so three replicas are three times the work on the same cores.
"""

import time
from functools import partial
from statistics import median, quantiles

from confluent_kafka import Producer

from benchmarks.bench import BASELINE, CLUSTER, Bench, Row
from benchmarks.clusters import produce_all, three_nodes
from tests.support.cluster import ClusterProcesses

_SIZE = 1000
_RATE = 500
_WARM_UP = 250


def measure(bench: Bench) -> list[Row]:
    megabytes, seconds = (30, 2) if bench.quick else (150, 6)
    seen: dict[str, dict[str, list[float]]] = {}
    with three_nodes() as cluster:
        for number in range(bench.rounds):
            for column, replicas in ((CLUSTER, 3), (BASELINE, 1)):
                topic = f"r{replicas}-{number}"
                cluster.create_topic(topic, 1, replicas)
                values = {
                    "MB/s": throughput(cluster, topic, megabytes),
                    **latency_ms(cluster, topic, seconds * _RATE + _WARM_UP),
                }
                shown = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
                bench.console.print(
                    f"  [dim]acks=all, {replicas} replicas: {shown}[/]", highlight=False
                )
                for key, value in values.items():
                    seen.setdefault(key, {}).setdefault(column, []).append(value)
    medians = {key: {c: median(v) for c, v in by_column.items()} for key, by_column in seen.items()}
    return [
        Row("acks=all throughput, 3 replicas vs. 1", "MB/s", medians["MB/s"]),
        Row("acks=all latency p50, 3 replicas vs. 1", "ms", medians["p50"]),
        Row("acks=all latency p99, 3 replicas vs. 1", "ms", medians["p99"]),
    ]


def throughput(cluster: ClusterProcesses, topic: str, megabytes: int) -> float:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "queue.buffering.max.kbytes": 200_000,
            "log_level": 2,
        }
    )
    producer.list_topics(topic, 30)
    count = megabytes * 1_000_000 // _SIZE
    return megabytes / produce_all(producer, topic, bytes(_SIZE), count)


def latency_ms(cluster: ClusterProcesses, topic: str, count: int) -> dict[str, float]:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0})
    producer.list_topics(topic, 30)
    taken_ms: list[float] = []

    def delivered(error: object, _: object, sent_at: float) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        taken_ms.append((time.perf_counter() - sent_at) * 1000)

    began = time.perf_counter()
    for number in range(count):
        while (wait_s := began + number / _RATE - time.perf_counter()) > 0:
            producer.poll(wait_s)
        producer.produce(
            topic, bytes(100), on_delivery=partial(delivered, sent_at=time.perf_counter())
        )
    if producer.flush(30):
        raise RuntimeError("not everything was acknowledged")
    cuts = quantiles(taken_ms[_WARM_UP:], n=100)
    return {"p50": cuts[49], "p99": cuts[98]}

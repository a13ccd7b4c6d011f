"""Catch-up: how fast a follower that was away catches up, vs. an ordinary consumer.

A node is stopped, a partition of three replicas is filled with 1 kB records, the node is started
again. Its speed is what its log gains between a tenth and nine tenths of what it missed; the
consumer (librdkafka) reads the same partition from the start, before the follower is back, and its
time counts between the same marks.
"""

import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import BASELINE, CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import produce_all, three_nodes, until
from tests.support.cluster import ClusterProcesses, NodeProcess

_SIZE = 1000
_PATIENCE_S = 120.0


def measure(bench: Bench) -> list[Row]:
    megabytes = 60 if bench.quick else 300
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, 1)
        cluster.wait_until_in_sync()
        leader = cluster.leader_of(TOPIC)
        follower = next(node for node in cluster.nodes.values() if node is not leader)
        follower.stop()
        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "queue.buffering.max.kbytes": 200_000,
                "log_level": 2,
            }
        )
        produce_all(producer, TOPIC, bytes(_SIZE), megabytes * 1_000_000 // _SIZE)
        consumed = consumer_speed(cluster, megabytes)
        began = time.perf_counter()
        follower.launch()
        caught_up = follower_speed(follower, _stored(leader))
        cluster.wait_until_in_sync()
        back_s = time.perf_counter() - began
    return [
        Row(
            "Catch-up of a returning follower vs. a consumer",
            "MB/s",
            {CLUSTER: caught_up, BASELINE: consumed},
        ),
        Row(f"Start to back in sync, {megabytes} MB behind", "s", {CLUSTER: back_s}),
    ]


def follower_speed(follower: NodeProcess, total: int) -> float:
    marks = [total // 10, total * 9 // 10]
    until(lambda: _stored(follower) >= marks[0], _PATIENCE_S, "catching up")
    began, first = time.perf_counter(), _stored(follower)
    until(lambda: _stored(follower) >= marks[1], _PATIENCE_S, "catching up")
    return (_stored(follower) - first) / (time.perf_counter() - began) / 1e6


def consumer_speed(cluster: ClusterProcesses, megabytes: int) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "catch-up",
            "enable.auto.commit": False,
            "queued.max.messages.kbytes": 200_000,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    total = megabytes * 1_000_000
    read, began, first = 0, 0.0, 0
    deadline = time.perf_counter() + _PATIENCE_S
    while read < total * 9 // 10:
        read += sum(len(m.value() or b"") for m in consumer.consume(10_000, 0.1))
        if not began and read >= total // 10:
            began, first = time.perf_counter(), read
        if time.perf_counter() > deadline:
            raise RuntimeError(f"only {read} of {total} bytes came back")
    speed = (read - first) / (time.perf_counter() - began) / 1e6
    consumer.close()
    return speed


def _stored(node: NodeProcess) -> int:
    return sum(path.stat().st_size for path in Path(node.data).glob(f"{TOPIC}-0/*.log"))

"""Elasticity: how long it takes to give a new node its share, and to restart all nodes in turn.

Four nodes, of which one is empty at first: all partitions, with one replica each, are on the
others. `cluster balance --apply` gives it its share. A rolling restart stops and starts nodes one
by one, each when all replicas are in sync again; its topic has three replicas.

`--partitions` and `--megabytes` set the size of what the new node joins.
"""

import os
import subprocess
import sys
import time

from confluent_kafka import Producer

from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import cluster_of, produce_all, three_nodes

_SIZE = 1000


def measure(bench: Bench) -> list[Row]:
    return [*_new_node(bench), *_rolling_restart(bench)]


def _new_node(bench: Bench) -> list[Row]:
    partitions, megabytes = bench.partitions, bench.megabytes
    with cluster_of(4) as cluster:
        cluster.create_topic(TOPIC, partitions, 1)
        _balance(cluster.bootstrap, "--without", "4")
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "queue.buffering.max.kbytes": 200_000,
            "log_level": 2,
            "partitioner": "random",
            "sticky.partitioning.linger.ms": 0,
        }
        produce_all(
            Producer(settings), TOPIC, os.urandom(_SIZE), megabytes * 1_000_000 // _SIZE, 600
        )
        seconds = _balance(cluster.bootstrap)
        moved = sum(4 in each.replicas for each in cluster.partitions(TOPIC).values())
    if not moved:
        raise RuntimeError("the new node got nothing")
    what = f"A new node gets its share of {partitions} partitions with {megabytes} MB"
    return [Row(what, "s", {CLUSTER: seconds})]


def _balance(bootstrap: str, *options: str) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "barnabas", "cluster", "balance", "--apply", *options]
    subprocess.run(
        [*command, "--bootstrap", bootstrap],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def _rolling_restart(bench: Bench) -> list[Row]:
    partitions = bench.partitions
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, partitions, 3)
        cluster.wait_until_in_sync()
        began = time.perf_counter()
        for node in cluster.nodes.values():
            node.stop()
            node.start()
            cluster.wait_until_in_sync()
        seconds = time.perf_counter() - began
    return [
        Row(f"Rolling restart of three nodes, {partitions} partitions", "s", {CLUSTER: seconds})
    ]

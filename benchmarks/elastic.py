"""Elasticity: how long it takes to give a new node its share, and to restart all nodes in turn.

Four nodes, of which one is empty at first: all partitions, with one replica each, are on the
others. `cluster balance --apply` gives it its share. A rolling restart stops and starts nodes one
by one, each when all replicas are in sync again; its topic has three replicas.

`--partitions` and `--megabytes` set the size of what the new node joins, `--patience` for how many
seconds a step may last: a busy machine is no reason to give up.
"""

import os
import subprocess
import sys
import time
from threading import Event, Timer

from confluent_kafka import Producer

from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import cluster_of, produce_all, three_nodes, wait_in_sync

_SIZE = 100_000
"""Of a record: what is moved is bytes, and large records are written soon."""


def measure(bench: Bench) -> list[Row]:
    return [*_new_node(bench), *_rolling_restart(bench)]


def _new_node(bench: Bench) -> list[Row]:
    partitions, megabytes = bench.partitions, bench.megabytes
    with cluster_of(4) as cluster:
        cluster.create_topic(TOPIC, partitions, 1)
        _balance(bench, cluster.bootstrap, "--without", "4")
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "queue.buffering.max.kbytes": 200_000,
            "log_level": 2,
            "partitioner": "random",
            "sticky.partitioning.linger.ms": 0,
            "message.timeout.ms": int(bench.patience_s * 1_000),
        }
        count = megabytes * 1_000_000 // _SIZE
        produce_all(Producer(settings), TOPIC, os.urandom(_SIZE), count, bench.patience_s)
        seconds = _balance(bench, cluster.bootstrap)
        moved = sum(4 in each.replicas for each in cluster.partitions(TOPIC).values())
    if not moved:
        raise RuntimeError("the new node got nothing")
    what = f"A new node gets its share of {partitions} partitions with {megabytes} MB"
    return [Row(what, "s", {CLUSTER: seconds})]


def _balance(bench: Bench, bootstrap: str, *options: str) -> float:
    """Seconds that it took. Its progress is shown, and its reasons if it fails."""
    began = time.perf_counter()
    expired = Event()
    command = [sys.executable, "-m", "barnabas", "cluster", "balance", "--apply", *options]
    with subprocess.Popen(
        [*command, "--bootstrap", bootstrap],
        stdout=subprocess.DEVNULL,  # the plan
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None

        def give_up() -> None:
            expired.set()
            process.terminate()

        timer = Timer(bench.patience_s, give_up)
        timer.start()
        said = []
        try:
            for line in process.stderr:
                said.append(line.strip())
                bench.console.print(f"  [dim]{line.strip()}[/]", highlight=False)
        finally:
            timer.cancel()
    if expired.is_set():
        last = said[-1] if said else "it said nothing"
        raise RuntimeError(
            f"`{' '.join(command[1:])}` took more than {bench.patience_s:g} s ({last}): give more "
            "time with --patience"
        )
    if process.returncode:
        reasons = "\n".join(said[-5:])
        raise RuntimeError(f"`{' '.join(command[1:])}` exited with {process.returncode}: {reasons}")
    return time.perf_counter() - began


def _rolling_restart(bench: Bench) -> list[Row]:
    partitions = bench.partitions
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, partitions, 3)
        wait_in_sync(cluster, bench, "at first")
        began = time.perf_counter()
        for node_id, node in cluster.nodes.items():
            node.stop()
            node.launch()
            node.wait_until_ready(bench.patience_s)
            wait_in_sync(cluster, bench, f"after the restart of node {node_id}")
        seconds = time.perf_counter() - began
    return [
        Row(f"Rolling restart of three nodes, {partitions} partitions", "s", {CLUSTER: seconds})
    ]

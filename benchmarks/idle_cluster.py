"""Three nodes at rest: what heartbeats, elections that don't happen and empty fetches cost.

A topic of 30 partitions with three replicas, no clients. User and system time of all three
processes together, in percent of one core, and the memory of the largest.
"""

import time

from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import three_nodes

_SETTLE_S = 3.0


def measure(bench: Bench) -> list[Row]:
    seconds = 5 if bench.quick else 20
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, 30)
        cluster.wait_until_in_sync()
        time.sleep(_SETTLE_S)
        nodes = list(cluster.nodes.values())
        before = [node.cpu() for node in nodes]
        time.sleep(seconds)
        used = [node.cpu() - was for node, was in zip(nodes, before, strict=True)]
        memory = max(node.rss() for node in nodes) / 1e6
    return [
        Row(f"CPU of three nodes over {seconds} s idle", "%", {CLUSTER: 100 * sum(used) / seconds}),
        Row("Memory of an idle node", "MB", {CLUSTER: memory}),
    ]

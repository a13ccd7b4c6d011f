"""The controller's capacity: 10,000 partitions of three replicas on three nodes.

Created as 100 topics of 100 partitions, in one request: until it is answered, and until all nodes
see a leader for each. Then a leader is killed with all of them there: until the next write to one
of its partitions is acknowledged, and until each partition has a leader that lives. Kafka's clients
wait a minute for an answer, so we may do so too; but the less the better.
"""

import time

from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from benchmarks.bench import CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import three_nodes, until
from benchmarks.failover import Traffic
from tests.support.cluster import ClusterProcesses

_PARTITIONS_EACH = 100
_PATIENCE_S = 300.0


def measure(bench: Bench) -> list[Row]:
    topics = 10 if bench.quick else 100
    total = topics * _PARTITIONS_EACH
    with three_nodes() as cluster:
        cluster.create_topic(TOPIC, 3)
        began = time.perf_counter()
        _create(cluster, topics)
        answered_s = time.perf_counter() - began
        until(lambda: _all_led(cluster, total), _PATIENCE_S, "a leader for each")
        led_s = time.perf_counter() - began
        memory = max(node.rss() for node in cluster.nodes.values()) / 1e6
        bench.console.print(
            f"  [dim]{total:,} partitions: answered {answered_s:.2f} s, led {led_s:.2f} s[/]",
            highlight=False,
        )
        with Traffic(cluster.bootstrap, TOPIC, 0, 3) as traffic:
            cluster.wait_until_in_sync(_PATIENCE_S)
            time.sleep(1.5)
            leader = cluster.leader_of(TOPIC)
            began = time.perf_counter()
            leader.kill()
            acked_s, read_s = traffic.next_after(began)
            until(lambda: _all_led(cluster, total, leader.node_id), _PATIENCE_S, "new leaders")
            moved_s = time.perf_counter() - began
    label = f"{total:,} partitions"
    return [
        Row(f"{label} created: answered", "s", {CLUSTER: answered_s}),
        Row(f"{label} created: all nodes see all leaders", "s", {CLUSTER: led_s}),
        Row(f"{label}, leader killed: next acknowledged write", "ms", {CLUSTER: acked_s * 1000}),
        Row(f"{label}, leader killed: next consumed record", "ms", {CLUSTER: read_s * 1000}),
        Row(f"{label}, leader killed: all led again", "s", {CLUSTER: moved_s}),
        Row(f"Memory of a node with {label}", "MB", {CLUSTER: memory}),
    ]


def _create(cluster: ClusterProcesses, topics: int) -> None:
    asked = [CreatableTopic(f"many-{i}", _PARTITIONS_EACH, 3) for i in range(topics)]
    with cluster.controller().connect(timeout_s=_PATIENCE_S) as client:
        results = client.ask(CreateTopicsRequest(asked, int(_PATIENCE_S * 1000))).topics
    errors = {result.error_code for result in results} - {0}
    if errors:
        raise RuntimeError(f"topics were not created: errors {errors}")


def _all_led(cluster: ClusterProcesses, total: int, gone: int = 0) -> bool:
    """Whether each living node sees a living leader for all partitions."""
    for node in cluster.awake():
        with node.connect(timeout_s=30) as client:
            answer = client.ask(MetadataRequest(None))
        leaders = [p.leader_id for topic in answer.topics for p in topic.partitions]
        if len(leaders) <= total or any(leader in (-1, gone) for leader in leaders):
            return False
    return True

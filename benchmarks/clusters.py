"""Clusters of three nodes that are measured, each node a process of its own on this machine."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from barnabas.embedded.view import PartitionState
from benchmarks.bench import Bench
from tests.support.cluster import ClusterProcesses

NODES = 3
_LOOK_EVERY_S = 0.05
_SAY_EVERY_S = 5.0


@contextmanager
def cluster_of(nodes: int, settings: Mapping[str, str] | None = None) -> Iterator[ClusterProcesses]:
    """A fresh cluster with default settings, but for those given."""
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-", ignore_cleanup_errors=True) as path,
        ClusterProcesses(Path(path), nodes, settings) as cluster,
    ):
        yield cluster


@contextmanager
def three_nodes(settings: Mapping[str, str] | None = None) -> Iterator[ClusterProcesses]:
    with cluster_of(NODES, settings) as cluster:
        yield cluster


def produce_all(
    producer: Producer, topic: str, value: bytes, count: int, patience_s: float = 120
) -> float:
    """Seconds until all of `count` records are acknowledged."""
    failed: list[str] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    began = time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(patience_s)
    if left or failed:
        raise RuntimeError(f"{left} records are left, {len(failed)} failed: {failed[:1]}")
    return time.perf_counter() - began


def until(condition: Callable[[], object], timeout_s: float, what: str) -> float:
    """Seconds until something holds."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > timeout_s:
            raise RuntimeError(f"{what} did not happen in {timeout_s} s")
        time.sleep(0.002)
    return time.perf_counter() - began


def wait_in_sync(cluster: ClusterProcesses, bench: Bench, when: str) -> None:
    """Until all replicas are in sync; which are not is shown now and then."""
    deadline = time.monotonic() + bench.patience_s
    said_at = time.monotonic()
    while (lacking := _lacking(cluster.partitions())) is not None:
        now = time.monotonic()
        if now > deadline:
            raise RuntimeError(
                f"{when}: {lacking}, {bench.patience_s:g} s long; see the logs of these nodes, or "
                "give more time with --patience"
            )
        if now - said_at > _SAY_EVERY_S:
            said_at = now
            bench.console.print(f"  [dim]{when}: {lacking}[/]", highlight=False)
        time.sleep(_LOOK_EVERY_S)


def _lacking(partitions: Mapping[tuple[str, int], PartitionState]) -> str | None:
    """Which partitions lack which nodes; None if all have what they need."""
    if not partitions:
        return "no node answers"
    found = {
        name: state
        for name, state in partitions.items()
        if state.leader < 0 or set(state.isr) != set(state.replicas)
    }
    if not found:
        return None
    of_nodes = Counter(
        node for state in found.values() for node in set(state.replicas) - set(state.isr)
    )
    leaderless = sum(state.leader < 0 for state in found.values())
    (topic, index), state = min(found.items())
    where = ", ".join(f"{count} on node {node}" for node, count in sorted(of_nodes.items()))
    return (
        f"{len(found)} partitions are not in sync ({where or 'no replica lacks'}; "
        f"{leaderless} without a leader), such as {topic}-{index}: leader {state.leader}, "
        f"replicas {list(state.replicas)}, in sync {list(state.isr)}"
    )

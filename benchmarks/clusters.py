"""Clusters of three nodes that are measured, each node a process of its own on this machine."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from tests.support.cluster import ClusterProcesses

NODES = 3


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

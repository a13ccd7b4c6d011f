"""What it costs that committed offsets are on the disk before they are acknowledged.

Sixteen groups, each with a connection of its own, commit the offset of a partition again and again,
each after the last one was answered: commits a second of all of them, and how long one takes. The
baseline is the same with `flush.messages` of the topic of the offsets set to never. On one node,
and on three, where every replica in sync has to have a commit. All of it shares this machine and
its disk.
"""

import threading
import time
from statistics import median, quantiles

from barnabas.wire.framing import encode_request
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from benchmarks.bench import BASELINE, CLUSTER, TOPIC, Bench, Row
from benchmarks.clusters import cluster_of
from benchmarks.raw_client import RawConnection
from tests.support.cluster import ClusterProcesses

_GROUPS = 16
_FIND_VERSION = 1
_COMMIT_VERSION = 7
_TOPIC_RESOURCE = 2
_NEVER = str(2**63 - 1)
_NO_ERROR = b"\0\0\0\1" + bytes(4) + b"\0\0"
"""How the answer ends: one partition, number 0, no error."""


def measure(bench: Bench) -> list[Row]:
    seconds = 3 if bench.quick else 8
    rows = []
    for nodes in (1, 3):
        seen: dict[str, dict[str, list[float]]] = {}
        with cluster_of(nodes) as cluster:
            cluster.create_topic(TOPIC, 1, nodes)
            frames = [_commit_frame(f"group-{number}") for number in range(_GROUPS)]
            addresses = [_coordinator(cluster, f"group-{number}") for number in range(_GROUPS)]
            for _ in range(bench.rounds):
                for column, flush in ((CLUSTER, "1"), (BASELINE, _NEVER)):
                    _set_flush(cluster, flush)
                    for key, value in _commit(addresses, frames, seconds).items():
                        seen.setdefault(key, {}).setdefault(column, []).append(value)
        what = "1 node" if nodes == 1 else f"{nodes} nodes"
        for key, unit in (("commits a second", "/s"), ("p50", "ms"), ("p99", "ms")):
            values = {column: median(found) for column, found in seen[key].items()}
            rows.append(Row(f"Offset commits, {what}, {key}, flushed vs. not", unit, values))
    return rows


def _commit(
    addresses: list[tuple[str, int]], frames: list[bytes], seconds: float
) -> dict[str, float]:
    taken_ms: list[list[float]] = [[] for _ in frames]
    until = time.perf_counter() + seconds

    def work(number: int) -> None:
        with RawConnection(*addresses[number]) as connection:
            while (began := time.perf_counter()) < until:
                if connection.ask(frames[number])[-10:] != _NO_ERROR:
                    raise RuntimeError("the broker refuses a commit")
                taken_ms[number].append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(frames))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = [each for one in taken_ms for each in one]
    return {
        "commits a second": len(together) / seconds,
        "p50": median(together),
        "p99": quantiles(together, n=100)[98],
    }


def _commit_frame(group: str) -> bytes:
    topics = [
        OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])
    ]
    request = OffsetCommitRequest(group, topics=topics)
    return b"".join(encode_request(request, _COMMIT_VERSION, 1, "bench"))


def _coordinator(cluster: ClusterProcesses, group: str) -> tuple[str, int]:
    """Its address, as soon as it takes commits."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = cluster.ask_any(FindCoordinatorRequest(group), _FIND_VERSION)
        if found.error_code == 0:
            with RawConnection(found.host, found.port) as connection:
                if connection.ask(_commit_frame(group))[-10:] == _NO_ERROR:
                    return found.host, found.port
        time.sleep(0.05)
    raise RuntimeError(f"{group} has no coordinator")


def _set_flush(cluster: ClusterProcesses, flush_messages: str) -> None:
    config = AlterableConfig("flush.messages", 0, flush_messages)
    resource = AlterConfigsResource(_TOPIC_RESOURCE, "__consumer_offsets", [config])
    (answer,) = cluster.ask_any(IncrementalAlterConfigsRequest([resource])).responses
    if answer.error_code:
        raise RuntimeError(f"can't change flush.messages: {answer.error_message}")
    time.sleep(0.5)

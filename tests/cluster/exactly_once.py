"""Pipelines of real clients on a cluster that is hurt: at the end, each input's output once."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.cluster.conftest import SETTINGS
from tests.cluster.pipelines import PARTITIONS, Pipelines
from tests.cluster.transformer import ABORTED
from tests.foreign_clients.conftest import CLIENTS
from tests.foreign_clients.face import Client, Record
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

STATE, STATE_PARTITIONS = "__transaction_state", 3
EXACT = SETTINGS | {
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
    "transaction.state.log.replication.factor": "3",
}


@contextlib.contextmanager
def exactly_once(cluster: ClusterProcesses, directory: Path) -> Iterator[Pipelines]:
    """Transformers at work; at the end all is well, and everything came out once and in order."""
    with Pipelines(cluster, directory) as running:
        running.wait_until_ready()
        running.wait_for_progress()
        yield running
        cluster.wait_until_whole()
        running.wait_for_progress()
        running.finish()
        print(running.summary())
        count = sum(map(len, running.sent))
        for client in CLIENTS:
            assert read_all(cluster, client, count) == running.sent
        for topic in running.seen:
            for partition in range(PARTITIONS):
                wait_until(
                    lambda where=(topic, partition): ends_alike(cluster, *where),
                    f"a transaction hangs in {topic}-{partition}",
                )


def read_all(cluster: ClusterProcesses, client: Client, count: int) -> list[list[str]]:
    """What a library reads of its own topic, and that something in it was aborted."""
    values: list[list[str]] = [[] for _ in range(PARTITIONS)]
    beginning = dict.fromkeys(range(PARTITIONS), 0)
    with client.consumer(cluster.bootstrap, isolation="read_committed") as consumer:
        consumer.assign(client.name, beginning)
        for record in consumer.read(count):
            values[record.partition].append((record.value or b"").decode())
    with client.consumer(cluster.bootstrap, isolation="read_uncommitted") as consumer:
        consumer.assign(client.name, beginning)
        deadline = time.monotonic() + 60
        read: list[Record] = []
        while not any((record.value or b"").startswith(ABORTED) for record in read):
            assert time.monotonic() < deadline, f"nothing was aborted in {client.name}"
            read = consumer.poll(1)
    return values


def ends_alike(cluster: ClusterProcesses, topic: str, partition: int) -> bool:
    """Whether read_committed consumers get as far as others."""
    leader = cluster.leader_of(topic, partition)
    ends = set()
    for isolation_level in (0, 1):
        request = ListOffsetsRequest(
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-1)])],
        )
        with leader.connect(60) as client:
            (found,) = client.ask(request).topics[0].partitions
        ends.add(found.offset)
    return len(ends) == 1

"""Mirrors between clusters that get hurt: every record arrives once, in order, and faults are told.

Flows run as `barnabas mirror run` runs them.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from barnabas import Admin, Cluster, Consumer, Producer
from barnabas.errors import BarnabasError
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.operations.failback import complete, prepare, returning_flow
from barnabas.mirror.operations.failover import failover
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.verify import verify
from tests.mirror.copies import copy, make_topic, records_of
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

TOPIC, GROUP = "orders", "billing"
NEVER_MS = 2**62
PATIENCE_S = 240.0
"""Nodes that are killed one after the other, on a machine that is busy."""


class Problems:
    """Hears what goes wrong."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def on_report(self, report: CopyReport) -> None:
        self.found |= set(report.problems)


def flow_between(a: Cluster, b: Cluster, partitions: int = 1, *, provenance: bool = False) -> Flow:
    for cluster in (a, b):
        cluster.create_topic(TOPIC, partitions)
    ends = (ClusterEnd("A", a.bootstrap_servers), ClusterEnd("B", b.bootstrap_servers))
    return Flow(*ends, topics=(TOPIC,), names=Names.IDENTITY, provenance=provenance)


def produce(cluster: Cluster, numbers: range) -> None:
    with Producer(cluster.bootstrap_servers) as producer:
        for each in numbers:
            producer.send(TOPIC, b"%d" % each, partition=0)


def values_in(end: ClusterEnd) -> list[str]:
    return [(value or b"").decode() for _, _, _, value, _ in records_of(end, TOPIC)]


@pytest.mark.timeout(900)
@pytest.mark.long
def test_a_target_without_room_and_then_without_a_network() -> None:
    problems = Problems()
    with Cluster(1) as a, Cluster(1, network=True) as b:
        flow = flow_between(a, b)
        with RunningFlow(flow, {TOPIC: 1}, listeners=[problems]):
            produce(a, range(100))
            wait_until(lambda: len(values_in(flow.target)) == 100)
            b.fill_disk(1)
            produce(a, range(100, 200))
            wait_until(
                lambda: any(f"of {flow.target.name}: " in each for each in problems.found),
                lambda: f"{problems.found}",
            )
            b.free_disk()
            wait_until(lambda: len(values_in(flow.target)) >= 200)
            b.isolate(1)
            problems.found.clear()
            produce(a, range(200, 300))
            wait_until(lambda: problems.found, "the target is isolated, and no problem is told")
            b.heal()
            wait_until(lambda: len(values_in(flow.target)) >= 300)
        assert values_in(flow.target) == [str(each) for each in range(300)]


def test_times_that_the_target_refuses_are_named(
    ends: tuple[ClusterEnd, ClusterEnd], topic: str
) -> None:
    """The clock of a producer, or of a cluster, is far ahead."""
    a, b = ends
    make_topic(a, topic, message_timestamp_after_max_ms=str(NEVER_MS))
    make_topic(b, topic, message_timestamp_after_max_ms="1000")
    with Producer(a.bootstrap_servers) as producer:
        producer.send(topic, b"tomorrow", timestamp_ms=4_102_444_800_000)  # in 2100
    with pytest.raises(BarnabasError, match=topic) as failed:
        copy(Flow(a, b, names=Names.IDENTITY), topic)
    assert "timestamp" in str(failed.value).lower(), failed.value


@dataclass
class Load:
    """Producers with and without transactions, and a group, on a cluster that gets hurt."""

    cluster: Cluster
    name: str
    sent: list[str] = field(default_factory=list)
    """What was acknowledged, or committed."""
    read: list[tuple[int, str]] = field(default_factory=list)
    """Partition and value of what the group has read."""
    _done: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        works = (self._send, self._send_in_transactions, self._consume)
        threads = [threading.Thread(target=self._insist, args=(each,)) for each in works]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self.stop()
            for each in threads:
                each.join()

    def stop(self) -> None:
        self._done.set()

    def _insist(self, work) -> None:
        """A new client after any doubt; numbers go on behind what is in doubt."""
        numbers = iter(range(0, 10**9, 10))
        while not self._done.is_set():
            try:
                work(numbers)
            except BarnabasError:
                self._done.wait(0.2)

    def _send(self, numbers: Iterator[int]) -> None:
        with Producer(self.cluster.bootstrap_servers, delivery_timeout_ms=10_000) as producer:
            while not self._done.wait(0.05):
                batch = self._batch("plain", numbers)
                receipts = [
                    producer.send(TOPIC, value.encode(), partition=at) for at, value in batch
                ]
                producer.flush()
                for each in receipts:
                    each.result()
                self.sent += [value for _, value in batch]

    def _send_in_transactions(self, numbers: Iterator[int]) -> None:
        name = f"writer-{self.name}"
        with Producer(
            self.cluster.bootstrap_servers, transactional_id=name, delivery_timeout_ms=10_000
        ) as producer:
            while not self._done.wait(0.05):
                batch = self._batch("committed", numbers)
                with producer.transaction():
                    for at, value in batch:
                        producer.send(TOPIC, value.encode(), partition=at)
                self.sent += [value for _, value in batch]
                dropped = self._batch("dropped", numbers)
                try:
                    with producer.transaction():
                        for at, value in dropped:
                            producer.send(TOPIC, value.encode(), partition=at)
                        raise _RollBack
                except _RollBack:
                    continue

    def _batch(self, kind: str, numbers: Iterator[int]) -> list[tuple[int, str]]:
        first = next(numbers)
        return [(each % 2, f"{self.name} {kind} {each}") for each in range(first, first + 10)]

    def _consume(self, _: Iterator[int]) -> None:
        with _group_member(self.cluster) as reader:
            while not self._done.is_set():
                self.read += [(each.partition, _text(each)) for each in reader.poll(0.5)]


class _RollBack(Exception):
    pass


def _group_member(cluster: Cluster) -> Consumer:
    return Consumer(
        cluster.bootstrap_servers,
        TOPIC,
        group=GROUP,
        session_timeout_ms=30_000,
        commit_interval_ms=500,
        close_timeout_s=2.0,
    )


def _text(message) -> str:
    return (message.value or b"").decode()


def drain(cluster: Cluster) -> list[tuple[int, str]]:
    """Read, as a member of the group, everything that is left for it."""
    read: list[tuple[int, str]] = []
    with Admin(cluster.bootstrap_servers) as admin, _group_member(cluster) as reader:
        ends = admin.offsets(TOPIC, isolation="read_committed")

        def is_done() -> bool:
            read.extend((each.partition, _text(each)) for each in reader.poll(1.0))
            if not set(ends) <= set(reader.assignment):
                return False
            return all(reader.position(each) >= end for each, end in ends.items())

        wait_until(is_done, lambda: f"read {len(read)} up to {ends}", timeout_s=PATIENCE_S)
    return read


def assert_in_order(read: list[tuple[int, str]]) -> None:
    """What each producer has sent to a partition comes in order, but for what is read again."""
    last: dict[tuple[int, str], int] = {}
    for at, value in dict.fromkeys(read):
        producer, _, number = value.rpartition(" ")
        assert int(number) > last.get((at, producer), -1), f"{value} in partition {at}"
        last[at, producer] = int(number)


def committed_groups(cluster: Cluster) -> set[str]:
    """The groups with committed offsets."""
    with Admin(cluster.bootstrap_servers) as admin:
        return {each for each in admin.groups() if admin.group_offsets(each)}


def hurt(clusters: tuple[Cluster, Cluster], load: Load, nodes: tuple[int, ...]) -> None:
    """Kill nodes of both clusters in turns; each returns when producers and the group went on."""
    for node in nodes:
        for cluster in clusters:
            sent, read = len(load.sent), len(load.read)
            cluster.kill(node)
            wait_until(
                lambda s=sent, r=read: len(load.sent) > s + 50 and len(load.read) > r + 50,
                lambda: f"sent {len(load.sent)}, read {len(load.read)}",
                timeout_s=PATIENCE_S,
            )
            cluster.restart(node, timeout_s=PATIENCE_S)
            cluster.wait_until_healed(timeout_s=PATIENCE_S)


def _rehearse(nodes: int, killed: tuple[int, ...]) -> None:
    with Cluster(nodes) as a, Cluster(nodes) as b:
        flow = flow_between(a, b, 2, provenance=True)
        in_a = Load(a, "a")
        with RunningFlow(flow, {TOPIC: 2}) as running, in_a.running():
            wait_until(lambda: len(in_a.read) > 100, timeout_s=PATIENCE_S)
            hurt((a, b), in_a, killed)
            rounds = running.upkeep.status.group_rounds
            wait_until(lambda: running.upkeep.status.group_rounds > rounds + 2)
            wait_until(lambda: GROUP in committed_groups(b), timeout_s=PATIENCE_S)
            a.kill(*a.nodes)  # under load: some of it was not copied, and not acknowledged
            in_a.stop()

        async def fail_over():
            async with connect(flow) as clients:
                return await failover(flow, clients)

        report = asyncio.run(fail_over())
        assert not report.is_source_reachable
        assert {each.group for each in report.groups} == {GROUP}
        copied = values_in(flow.target)
        assert max(Counter(copied).values()) == 1, "a record was copied twice"
        assert not any("dropped" in each for each in copied)
        read_in_b = drain(b)
        assert_in_order(read_in_b)
        seen = {value for _, value in in_a.read + read_in_b}
        assert set(copied) <= seen, "the group has missed records in B"
        repeats = sum((Counter(set(in_a.read)) & Counter(read_in_b)).values())
        print(f"repeated after failover: {repeats} of {len(copied)}")

        with Producer(b.bootstrap_servers) as producer:
            for each in range(200):
                producer.send(TOPIC, f"b plain {each}".encode(), partition=each % 2)
        read_in_b += drain(b)
        a.restart(timeout_s=PATIENCE_S)
        a.wait_until_healed(timeout_s=PATIENCE_S)
        back = returning_flow(flow)

        async def fail_back():
            async with connect(flow) as clients:
                await prepare(flow, clients)
                with RunningFlow(flow, {TOPIC: 2}), RunningFlow(back, {TOPIC: 2}):
                    await complete(flow, clients, wait_s=PATIENCE_S)
                compared = await verify(flow, clients)
            async with connect(back) as clients:
                return compared + await verify(back, clients)

        compared = asyncio.run(fail_back())
        assert [each for each in compared if not each.is_equal] == []
        everything = values_in(flow.source)
        assert sorted(everything) == sorted(values_in(flow.target))
        assert max(Counter(everything).values()) == 1
        lost = {*in_a.sent, *(f"b plain {each}" for each in range(200))} - set(everything)
        assert not lost, f"acknowledged and gone: {sorted(lost)[:20]}"
        read_again = drain(a)
        assert_in_order(read_again)
        seen |= {value for _, value in read_in_b + read_again}
        assert set(everything) <= seen, "the group has missed records after it went back"
        known = set(in_a.read) | set(read_in_b)
        print(f"repeated after failback: {sum(each in known for each in read_again)}")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_dies_under_load_and_everything_returns() -> None:
    _rehearse(1, ())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_nodes_of_both_clusters_are_killed_in_turns_and_then_one_cluster_wholly() -> None:
    _rehearse(3, (1, 2, 3))

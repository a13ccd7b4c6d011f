"""Cluster A dies wholly, its group goes on in B, A comes back, and everything returns.

Every record is accounted for, in order, and what the group reads twice is counted.
"""

import asyncio
from collections import Counter, defaultdict

import pytest

from barnabas import Admin, Cluster, Consumer, Producer
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.names import remote_topic
from barnabas.mirror.operations.failback import complete, prepare, returning_flow
from barnabas.mirror.operations.failover import failover
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.status import collect_status
from barnabas.mirror.operations.verify import verify
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

TOPICS = {"orders": 2}
GROUP = "billing"


def produce(cluster: Cluster, name: str, numbers: range) -> None:
    """Each number once, in order in its partition; some in transactions."""
    with Producer(cluster.bootstrap_servers, transactional_id=f"writer-{name}") as producer:
        for start in range(numbers.start, numbers.stop, 50):
            with producer.transaction():
                for each in range(start, min(start + 50, numbers.stop)):
                    producer.send("orders", f"{name}{each}".encode(), partition=each % 2)


def consume(cluster: Cluster, count: int) -> list[tuple[int, str]]:
    """Read so many messages as a member of the group, and commit them."""
    read: list[tuple[int, str]] = []
    with Consumer(
        cluster.bootstrap_servers, "orders", group=GROUP, session_timeout_ms=30_000
    ) as consumer:

        def poll() -> bool:
            left = count - len(read)
            read.extend((m.partition, m.value.decode()) for m in consumer.poll(1.0, left))
            return len(read) >= count

        wait_until(poll, lambda: f"read {len(read)} of {count}")
    return read


def drain(cluster: Cluster) -> list[tuple[int, str]]:
    """Read everything that is left for the group."""
    read: list[tuple[int, str]] = []
    with (
        Admin(cluster.bootstrap_servers) as admin,
        Consumer(
            cluster.bootstrap_servers, "orders", group=GROUP, session_timeout_ms=30_000
        ) as consumer,
    ):
        ends = admin.offsets("orders", isolation="read_committed")

        def poll() -> bool:
            read.extend((m.partition, m.value.decode()) for m in consumer.poll(1.0))
            try:
                return all(consumer.position(each) >= end for each, end in ends.items())
            except InvalidArgument:  # it has no partitions yet
                return False

        wait_until(poll, lambda: f"read {len(read)}, ends {ends}")
    return read


def caught_up(flow: Flow) -> bool:
    async def look() -> bool:
        async with connect(flow) as clients:
            found = await collect_status(flow, clients)
            return bool(found.partitions) and found.lag == 0

    return asyncio.run(look())


def groups_followed(running: RunningFlow, cluster: Cluster) -> None:
    """Wait until the group's commits are translated as far as the flow is."""
    with Admin(cluster.bootstrap_servers) as admin:
        wanted = {
            f"{remote_topic(running.flow, name.topic)}-{name.partition}": offset
            for name, offset in admin.group_offsets(GROUP).items()
        }

    def followed() -> bool:
        found = {
            str(each.partition): each.upstream_offset
            for group in running.upkeep.status.groups
            if group.group == GROUP
            for each in group.checkpoints
        }
        return found == wanted

    wait_until(followed, lambda: f"{running.upkeep.status}, not {wanted}")


def assert_in_order(read: list[tuple[int, str]]) -> None:
    """Each producer's records are read in order, but for what is read again."""
    last: dict[tuple[int, str], int] = defaultdict(lambda: -1)
    for partition, value in dict.fromkeys(read):
        name, number = value[0], int(value[1:])
        assert number > last[partition, name], f"{value} after {last[partition, name]}"
        last[partition, name] = number


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_dies_and_comes_back() -> None:
    with Cluster(1) as a, Cluster(1) as b:
        for cluster in (a, b):
            cluster.create_topic("orders", 2)
        flow = Flow(
            ClusterEnd("A", a.bootstrap_servers),
            ClusterEnd("B", b.bootstrap_servers),
            topics=("orders",),
            names=Names.IDENTITY,
            provenance=True,
        )
        with RunningFlow(flow, TOPICS) as running:
            produce(a, "a", range(2000))
            wait_until(lambda: caught_up(flow))
            read_in_a = consume(a, 1500)
            groups_followed(running, a)
        produce(a, "a", range(2000, 2100))  # never copied before A dies
        a.kill(1)

        async def fail_over():
            async with connect(flow) as clients:
                return await failover(flow, clients)

        report = asyncio.run(fail_over())
        assert not report.is_source_reachable
        assert {each.group for each in report.groups} == {GROUP}
        produce(b, "b", range(500))
        read_in_b = drain(b)
        repeats = sum((Counter(read_in_a) & Counter(read_in_b)).values())
        assert {value for _, value in read_in_a + read_in_b} == {
            *(f"a{each}" for each in range(2000)),
            *(f"b{each}" for each in range(500)),
        }
        assert_in_order(read_in_b)
        print("repeated after failover:", repeats)
        assert repeats <= 100  # at most the transaction that each partition is in

        a.restart()
        back = returning_flow(flow)

        async def fail_back():
            async with connect(flow) as clients:
                begun = await prepare(flow, clients)
                with RunningFlow(flow, TOPICS), RunningFlow(back, TOPICS):
                    done = await complete(flow, clients)
                compared = await verify(flow, clients)
            async with connect(back) as clients:
                compared += await verify(back, clients)
            return begun, done, compared

        begun, done, compared = asyncio.run(fail_back())
        assert len(begun) == 2
        assert [each.group for each in done.groups] == [GROUP]
        assert all(each.is_equal for each in compared), compared
        assert sum(each.records for each in compared) == 2100 + 500
        produce(a, "c", range(100))
        read_again = drain(a)
        everything = {value for _, value in read_in_a + read_in_b + read_again}
        assert everything == {
            *(f"a{each}" for each in range(2100)),
            *(f"b{each}" for each in range(500)),
            *(f"c{each}" for each in range(100)),
        }
        print("read after failback:", len(read_again), "of which new: 200")
        assert_in_order(read_again)

"""Clients move from one cluster to another, one by one and in any order, and back again.

As docs/migrating.md tells it: both flows run all the time and keep the names of topics.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas import Admin, Cluster, Consumer, Producer
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.groups.backward_route import backward_flow
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.status import collect_status
from barnabas.mirror.operations.verify import verify
from benchmarks import kafka_process
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

TOPIC, PARTITIONS = "orders", 2
BURST = 60
Read = list[tuple[int, str]]


class Site:
    """A cluster, and the flow that brings its records to the other one."""

    def __init__(self, servers: str, leaving: Flow) -> None:
        self.servers = servers
        self.leaving = leaving

    def caught_up(self) -> bool:
        """Whether the other cluster has all that producers have written here."""

        async def look() -> bool:
            async with connect(self.leaving) as clients:
                found = await collect_status(self.leaving, clients)
                return bool(found.partitions) and found.lag == 0

        return asyncio.run(look())

    def has_read_all(self, group: str) -> bool:
        """Whether committed offsets of the group are at the end here."""
        with Admin(self.servers) as admin:
            ends = admin.offsets(TOPIC, isolation="read_committed")
            return admin.group_offsets(group) == ends

    def positions(self, group: str) -> str:
        """What `has_read_all` compares."""
        with Admin(self.servers) as admin:
            ends = admin.offsets(TOPIC, isolation="read_committed")
            return f"{self.leaving.source.name}: {admin.group_offsets(group)} of {ends}"


class Application:
    """A producer and a group; each of them is in one of the two clusters."""

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.produces_at = self.consumes_at = site
        self.read: Read = []
        self._sent = 0

    def produce(self) -> None:
        """A burst of numbered records."""
        with Producer(self.produces_at.servers) as producer:
            for number in range(self._sent, self._sent + BURST):
                producer.send(
                    TOPIC, f"{self.name}-{number}".encode(), partition=number % PARTITIONS
                )
        self._sent += BURST

    def consume(self) -> None:
        """Read, as a group, what is there by now."""
        servers = self.consumes_at.servers
        with (
            Admin(servers) as admin,
            Consumer(servers, TOPIC, group=self.name, session_timeout_ms=30_000) as consumer,
        ):
            ends = admin.offsets(TOPIC, isolation="read_committed")

            def poll() -> bool:
                self.read += [(m.partition, m.value.decode()) for m in consumer.poll(1.0)]
                try:
                    return all(consumer.position(each) >= end for each, end in ends.items())
                except InvalidArgument:  # it has no partitions yet
                    return False

            wait_until(poll, lambda: f"read {len(self.read)}, ends {ends}")

    def move_producer(self, site: Site) -> None:
        """Its records must not overtake those that it has written before."""
        wait_until(self.produces_at.caught_up)
        self.produces_at = site

    def move_group(self, site: Site) -> None:
        """It has read everything in the one, so nothing is left for it in the other."""
        assert self.consumes_at.has_read_all(self.name)
        wait_until(
            lambda: site.has_read_all(self.name),
            lambda: f"{self.consumes_at.positions(self.name)}, {site.positions(self.name)}",
        )
        self.consumes_at = site

    @property
    def sent(self) -> set[str]:
        return {f"{self.name}-{number}" for number in range(self._sent)}


def assert_in_order(read: Read) -> None:
    last: dict[tuple[int, str], int] = defaultdict(lambda: -1)
    for partition, value in dict.fromkeys(read):
        name, number = value.split("-")
        assert int(number) > last[partition, name], f"{value} after {last[partition, name]}"
        last[partition, name] = int(number)


def rehearse(one: str, other: str) -> None:
    """Move everything to the other cluster and back."""
    for servers in (one, other):
        with Admin(servers) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=1)
    flow = Flow(
        ClusterEnd("old", one),
        ClusterEnd("new", other),
        topics=(TOPIC,),
        names=Names.IDENTITY,
        provenance=True,
    )
    back = backward_flow(flow)
    assert back is not None
    old, new = Site(one, flow), Site(other, back)
    sales, billing = applications = (Application("sales", old), Application("billing", old))

    def work() -> None:
        for each in applications:
            each.produce()
        for site in (old, new):
            wait_until(site.caught_up)
        for each in applications:
            each.consume()

    with (
        RunningFlow(flow, {TOPIC: PARTITIONS}),
        RunningFlow(back, {TOPIC: PARTITIONS}),
    ):
        for each in applications:
            each.produce()
        wait_until(old.caught_up)
        for each in applications:
            each.consume()
        for site in (new, old):
            sales.move_group(site)  # the consumers of one before its producers
            work()
            sales.move_producer(site)
            billing.move_producer(site)  # and the other way round
            work()
            billing.move_group(site)
            work()
        for each in (flow, back):
            compared = asyncio.run(_verified(each))
            assert all(partition.is_equal for partition in compared), compared
    for each in applications:
        assert {value for _, value in each.read} == sales.sent | billing.sent
        assert_in_order(each.read)
        assert len(each.read) == len(set(each.read))  # nothing was read twice


async def _verified(flow: Flow):
    async with connect(flow) as clients:
        return await verify(flow, clients)


@contextmanager
def barnabas_cluster() -> Iterator[str]:
    with Cluster(settings={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster.bootstrap_servers


@pytest.mark.timeout(900)
def test_clients_move_between_clusters_and_back() -> None:
    with barnabas_cluster() as old, barnabas_cluster() as new:
        rehearse(old, new)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    not kafka_process.is_available(),
    reason=f"set {kafka_process.JARS} to test with a real Kafka (benchmarks/kafka_process.py)",
)
@pytest.mark.parametrize("is_kafka_old", [True, False], ids=["from Kafka", "to Kafka"])
def test_clients_move_between_a_real_kafka_and_ours(is_kafka_old: bool) -> None:
    with (
        kafka_process.kafka({"auto.create.topics.enable": "false"}, {}) as kafka,
        barnabas_cluster() as ours,
    ):
        rehearse(*((kafka.bootstrap, ours) if is_kafka_old else (ours, kafka.bootstrap)))

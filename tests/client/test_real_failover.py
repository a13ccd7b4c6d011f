"""The client with a real cluster whose nodes are killed, frozen and stopped in turn."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.admin.topics import create_topic
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import CommitUncertain, ProducerFenced, TransactionAborted
from tests.client.core_consumer import CoreConsumer
from tests.support.supervised import Supervised
from tests.support.wait import wait_until_async

PARTITIONS = 3
LONG = pytest.mark.long


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    cluster = Supervised(
        tmp_path_factory.mktemp("failover"),
        *("--nodes", "3", "--set", "offsets.topic.num.partitions=3"),
        *("--set", "transaction.state.log.num.partitions=3"),
        *("--set", "min.insync.replicas=2", "--set", "group.initial.rebalance.delay.ms=0"),
    )
    cluster.ready()
    yield cluster
    cluster.kill()


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 300))


async def all_up(cluster: ClusterClient) -> None:
    async def three_serve() -> bool:
        brokers = (await describe_cluster(cluster)).brokers
        return len(brokers) == 3 and not any(broker.fenced for broker in brokers)

    await wait_until_async(three_serve)


async def killed(nodes: Supervised, node_id: int) -> None:
    nodes.nodes()[node_id].kill()


async def stopped(nodes: Supervised, node_id: int) -> None:
    nodes.nodes()[node_id].send_signal(signal.SIGTERM)


async def frozen(nodes: Supervised, node_id: int) -> None:
    process = nodes.nodes()[node_id]
    process.suspend()
    await asyncio.sleep(5)
    process.resume()


Hurt = Callable[[Supervised, int], Awaitable[None]]


class Reader:
    """A member of a group that reads until it has seen everything."""

    def __init__(self, cluster: ClusterClient, topic: str) -> None:
        self.values: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
        self.stopping = asyncio.Event()
        self._source = CoreConsumer(
            cluster,
            [topic],
            group_id=f"g-{topic}",
            session_timeout_ms=10_000,
            commit_interval_ms=200,
        )
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with self._source as source:
            while not self.stopping.is_set():
                for message in await source.poll(100):
                    self.values[message.partition].append(message.value)

    @property
    def count(self) -> int:
        return sum(len(values) for values in self.values.values())


@pytest.mark.parametrize(
    "hurt",
    [pytest.param(killed, marks=LONG), stopped, pytest.param(frozen, marks=LONG)],
    ids=lambda each: each.__name__,
)
def test_nothing_is_lost_or_stored_twice(nodes: Supervised, hurt: Hurt) -> None:
    topic = f"t-{hurt.__name__}"

    async def main() -> None:
        async with ClusterClient(nodes.ready()) as cluster:
            await all_up(cluster)
            await create_topic(cluster, topic, partitions=PARTITIONS, replication_factor=3)
            reader = Reader(cluster, topic)
            sent = 0
            async with RecordProducer(cluster, linger_ms=1) as producer:
                trouble = asyncio.create_task(make_trouble(cluster))
                while not trouble.done():
                    await producer.send(topic, b"%d" % sent, partition=sent % PARTITIONS)
                    sent += 1
                    await asyncio.sleep(0.002)
                await trouble
            assert producer.count.failed == 0, producer.count.first_error
            assert producer.count.delivered == sent
            await wait_until_async(lambda: reader.count >= sent or reader.task.done())
            reader.stopping.set()
            await reader.task
            wanted = {
                index: [b"%d" % i for i in range(index, sent, PARTITIONS)]
                for index in range(PARTITIONS)
            }
            # What was not committed before a rebalance is read again, but nothing is skipped.
            for index, values in reader.values.items():
                assert list(dict.fromkeys(values)) == wanted[index]
            names = [TopicPartition(topic, index) for index in range(PARTITIONS)]
            ends = await list_offsets(cluster, dict.fromkeys(names, LATEST))
            assert {name.partition: end.offset for name, end in ends.items()} == {
                index: len(values) for index, values in wanted.items()
            }

    async def make_trouble(cluster: ClusterClient) -> None:
        await hurt_all(nodes, cluster, hurt)

    run(main())


async def hurt_all(nodes: Supervised, cluster: ClusterClient, hurt: Hurt) -> None:
    for node_id in (1, 2, 3):
        await asyncio.sleep(0.5)
        await hurt(nodes, node_id)
        await asyncio.sleep(1.0)
        await all_up(cluster)


class Worker:
    """Copies records from one topic to another in transactions, until it is told to stop."""

    def __init__(self, cluster: ClusterClient, source: str, sink: str) -> None:
        self.aborted = 0
        self.producers = 0
        self.stopping = asyncio.Event()
        self._cluster = cluster
        self._sink = sink
        self._source = CoreConsumer(
            cluster,
            [source],
            group_id=f"g-{source}",
            session_timeout_ms=10_000,
            commit_interval_ms=None,
            isolation=IsolationLevel.READ_COMMITTED,
        )
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        async with self._source:
            while not self.stopping.is_set():
                self.producers += 1
                try:
                    async with RecordProducer(
                        self._cluster, transactional_id=self._sink
                    ) as producer:
                        while not self.stopping.is_set():
                            await self._copy(producer)
                except (ProducerFenced, CommitUncertain):
                    pass

    async def _copy(self, producer: RecordProducer) -> None:
        try:
            async with producer.transaction(self._source):
                for message in await self._source.poll(100):
                    await producer.send(self._sink, message.value, partition=message.partition)
        except TransactionAborted:
            self.aborted += 1


async def committed_values(cluster: ClusterClient, topic: str) -> dict[int, list[bytes]]:
    names = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    isolation = IsolationLevel.READ_COMMITTED
    ends = await list_offsets(cluster, dict.fromkeys(names, LATEST), isolation)
    values: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
    async with CoreConsumer(cluster, isolation=isolation) as consumer:
        await consumer.assign(dict.fromkeys(names, 0))
        while any(consumer.positions[name] < ends[name].offset for name in names):
            for message in await consumer.poll():
                values[message.partition].append(message.value)
    return values


@pytest.mark.parametrize(
    "hurt", [killed, pytest.param(frozen, marks=LONG)], ids=lambda each: each.__name__
)
def test_every_record_is_worked_on_exactly_once(nodes: Supervised, hurt: Hurt) -> None:
    source, sink = f"source-{hurt.__name__}", f"sink-{hurt.__name__}"

    async def main() -> None:
        async with ClusterClient(nodes.ready()) as cluster:
            await all_up(cluster)
            for topic in (source, sink):
                await create_topic(cluster, topic, partitions=PARTITIONS, replication_factor=3)
            worker = Worker(cluster, source, sink)
            sent = 0
            async with RecordProducer(cluster, linger_ms=1) as producer:
                trouble = asyncio.create_task(hurt_all(nodes, cluster, hurt))
                while not trouble.done():
                    await producer.send(source, b"%d" % sent, partition=sent % PARTITIONS)
                    sent += 1
                    await asyncio.sleep(0.005)
                await trouble
            assert producer.count.delivered == sent
            wanted = {
                index: [b"%d" % i for i in range(index, sent, PARTITIONS)]
                for index in range(PARTITIONS)
            }

            async def all_committed() -> bool:
                assert not worker.task.done(), worker.task.exception()
                found = await committed_values(cluster, sink)
                return sum(map(len, found.values())) >= sent

            await wait_until_async(all_committed)
            worker.stopping.set()
            await worker.task
            assert await committed_values(cluster, sink) == wanted

    run(main())

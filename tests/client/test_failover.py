"""Leaders and coordinators that move, brokers that go, hang, or tell an old story."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Self

import pytest

from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import (
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    newer,
)
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.committed_offsets import commit_offsets
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import BrokerUnreachable
from barnabas.records.decode import decode_records
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.client.core_consumer import CoreConsumer
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run

T0 = TopicPartition("t", 0)
TOPIC_ID = bytes(range(16))


class FakeCluster:
    """Brokers 1..n with one log of topic t, partition 0, which only its leader serves."""

    def __init__(self, count: int = 2) -> None:
        self.brokers = {n: FakeBroker() for n in range(1, count + 1)}
        self.leader = 1
        self.epoch = 0
        self.coordinator = 1
        self.values: list[bytes] = []
        self.hanging: set[int] = set()
        self.gone: set[int] = set()
        self.stale: dict[int, tuple[int, int]] = {}
        """Brokers that have not heard who leads, with what they believe."""
        for node_id, broker in self.brokers.items():
            self._wire(node_id, broker)

    def _wire(self, node_id: int, broker: FakeBroker) -> None:
        def on(kind: type[Any], answer: Any) -> None:
            async def handler(request: Any) -> Any:
                if node_id in self.hanging:
                    await asyncio.sleep(3600)
                return answer(node_id, request)

            broker.on(kind, handler)

        on(MetadataRequest, self.metadata)
        on(ProduceRequest, self.produce)
        on(FetchRequest, self.fetch)
        on(FindCoordinatorRequest, lambda _n, _r: FindCoordinatorResponse(node_id=self.coordinator))
        on(OffsetCommitRequest, self.commit)

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        for broker in self.brokers.values():
            await self._stack.enter_async_context(broker)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def elect(self, node_id: int) -> None:
        self.leader = node_id
        self.epoch += 1

    def metadata(self, node_id: int, request: MetadataRequest) -> MetadataResponse:
        leader, epoch = self.stale.get(node_id, (self.leader, self.epoch))
        partition = MetadataResponsePartition(leader_id=leader, leader_epoch=epoch)
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(n, "127.0.0.1", broker.port)
                for n, broker in self.brokers.items()
                if n not in self.gone
            ],
            controller_id=self.leader,
            topics=[
                MetadataResponseTopic(name="t", topic_id=TOPIC_ID, partitions=[partition])
                for _ in request.topics or []
            ],
        )

    def produce(self, node_id: int, request: ProduceRequest) -> ProduceResponse:
        (data,) = request.topic_data[0].partition_data
        answer = PartitionProduceResponse(index=0, base_offset=len(self.values))
        if node_id == self.leader:
            records = decode_records(bytes(data.records or b""))
            self.values += [record.value or b"" for record in records]
        else:
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ProduceResponse([TopicProduceResponse(name="t", partition_responses=[answer])])

    def fetch(self, node_id: int, request: FetchRequest) -> FetchResponse:
        at = request.topics[0].partitions[0].fetch_offset
        data = PartitionData(high_watermark=len(self.values))
        if node_id != self.leader:
            data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif at < len(self.values):
            rows = [(0, None, value, ()) for value in self.values[at:]]
            data.records = encode_batch(rows, base_offset=at)
        topic_id = request.topics[0].topic_id
        return FetchResponse(responses=[FetchableTopicResponse("t", topic_id, [data])])

    def commit(self, node_id: int, request: OffsetCommitRequest) -> OffsetCommitResponse:
        code = 0 if node_id == self.coordinator else ErrorCode.NOT_COORDINATOR
        answer = OffsetCommitResponsePartition(partition_index=0, error_code=code)
        return OffsetCommitResponse(
            topics=[OffsetCommitResponseTopic(name="t", partitions=[answer])]
        )


def test_what_is_produced_follows_the_leader() -> None:
    async def main() -> None:
        async with FakeCluster() as brokers, ClusterClient(brokers.bootstrap) as cluster:
            async with RecordProducer(cluster, batch_bytes=300) as producer:
                for i in range(100):
                    await producer.send("t", b"%d" % i)
                    if i % 20 == 0:
                        brokers.elect(3 - brokers.leader)
                        await asyncio.sleep(0.01)
            assert brokers.values == [b"%d" % i for i in range(100)]
            assert producer.count.failed == 0

    run(main())


def test_a_leader_that_hangs_is_left_as_soon_as_another_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.client.connect.cluster_client._LATE_S", 0.05)

    async def main() -> None:
        brokers = FakeCluster()
        async with brokers, ClusterClient(brokers.bootstrap, connect_timeout_ms=700) as cluster:
            consumer = CoreConsumer(cluster, tuning=FetchTuning(max_wait_ms=50))
            await consumer.assign({T0: 0})
            async with consumer, RecordProducer(cluster) as producer:
                await (await producer.send("t", b"before"))
                assert len(await consumer.poll(60_000)) == 1
                brokers.hanging.add(1)
                sent = await producer.send("t", b"after")
                await asyncio.sleep(0.2)
                assert not sent.done()
                brokers.elect(2)
                assert (await sent).offset == 1
                async with asyncio.timeout(20):
                    while consumer.positions[T0] < 2:
                        await consumer.poll(100)
            assert brokers.values == [b"before", b"after"]

    run(main())


def test_a_broker_that_dies_does_not_stop_what_others_lead() -> None:
    async def main() -> None:
        async with FakeCluster() as brokers, ClusterClient(brokers.bootstrap) as cluster:
            async with RecordProducer(cluster) as producer:
                await (await producer.send("t", b"1"))
                await brokers.brokers[1].__aexit__()
                sent = await producer.send("t", b"2")
                await asyncio.sleep(0.1)
                brokers.gone.add(1)
                brokers.elect(2)
                await sent
            assert brokers.values == [b"1", b"2"]

    run(main())


def test_a_consumer_finds_the_new_leader() -> None:
    async def main() -> None:
        async with FakeCluster() as brokers, ClusterClient(brokers.bootstrap) as cluster:
            brokers.values = [b"%d" % i for i in range(10)]
            async with CoreConsumer(cluster, tuning=FetchTuning(max_wait_ms=50)) as consumer:
                await consumer.assign({T0: 0})
                assert len(await consumer.poll(60_000)) == 10
                brokers.elect(2)
                brokers.values.append(b"10")
                async with asyncio.timeout(20):
                    while not (more := await consumer.poll(100)):
                        pass
                assert [message.offset for message in more] == [10]
                assert not consumer.unavailable

    run(main())


def test_an_old_story_is_not_believed_and_another_broker_is_asked() -> None:
    async def main() -> None:
        async with FakeCluster(3) as brokers, ClusterClient(brokers.bootstrap) as cluster:
            assert await cluster.leader(T0) == 1
            brokers.stale = {1: (1, 0)}
            brokers.elect(2)
            for _ in range(3):
                await cluster.refresh_leaders(["t"])
            assert await cluster.leader(T0) == 2
            await cluster.refresh(["t"])
            await cluster.refresh_leaders(["t"])
            assert await cluster.leader(T0) == 2

    run(main())


def test_a_commit_follows_the_coordinator() -> None:
    async def main() -> None:
        async with FakeCluster() as brokers, ClusterClient(brokers.bootstrap) as cluster:
            await commit_offsets(cluster, "g", {T0: 1})
            brokers.coordinator = 2
            await commit_offsets(cluster, "g", {T0: 2})
            assert brokers.brokers[2].count(OffsetCommitRequest) == 1

    run(main())


def test_a_broker_that_says_nothing_is_passed_over() -> None:
    async def main() -> None:
        async with FakeCluster() as brokers:
            brokers.hanging.add(1)
            async with ClusterClient(brokers.bootstrap, connect_timeout_ms=700) as cluster:
                assert cluster.brokers.keys() == {1, 2}

    run(main())


def test_a_node_that_is_away_is_waited_for() -> None:
    async def main() -> None:
        async with (
            FakeCluster() as brokers,
            ClusterClient(brokers.bootstrap, retry_timeout_ms=150) as cluster,
        ):
            brokers.gone.add(1)
            await cluster.refresh([])
            with pytest.raises(BrokerUnreachable, match="broker 1 is not available") as caught:
                await cluster.connection(1)
            assert caught.value.retriable

    run(main())


def test_fenced_brokers_are_asked_for_where_that_is_possible() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            asked: list[bool] = []

            def answer(request: DescribeClusterRequest) -> DescribeClusterResponse:
                asked.append(request.include_fenced_brokers)
                both = [
                    DescribeClusterBroker(2, "h", 9, "r", is_fenced=True),
                    DescribeClusterBroker(1, "h", 8),
                ]
                return DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=both)

            broker.on(DescribeClusterRequest, answer)
            async with ClusterClient(broker.bootstrap) as cluster:
                described = await describe_cluster(cluster)
                assert [(each.node_id, each.fenced) for each in described.brokers] == [
                    (1, False),
                    (2, True),
                ]
            broker.versions[DescribeClusterRequest.API_KEY] = (0, 1)
            async with ClusterClient(broker.bootstrap) as cluster:
                await describe_cluster(cluster)
            assert asked == [True, False]

    run(main())


def partition(leader: int, epoch: int) -> PartitionMetadata:
    return PartitionMetadata(0, leader, epoch, [], [], [])


def test_which_of_two_stories_is_newer() -> None:
    known = TopicMetadata("t", 0, False, [partition(2, 5)], TOPIC_ID)
    old = known._replace(partitions=[partition(1, 4)])
    assert newer(known, old).partitions == [partition(2, 5)]
    assert newer(old, known) is not old
    assert newer(old, known).partitions == [partition(2, 5)]
    recreated = old._replace(topic_id=bytes(15) + b"\x01")
    assert newer(known, recreated) is recreated
    grown = old._replace(partitions=[partition(1, 4), partition(1, 0)])
    assert newer(known, grown).partitions == [partition(2, 5), partition(1, 0)]
    assert newer(None, old) is old

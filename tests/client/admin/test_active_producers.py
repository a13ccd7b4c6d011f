"""Which open transactions hang, by what leaders and coordinators say."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from barnabas.client.admin.active_producers import (
    abort_transaction,
    describe_producers,
    find_hanging,
)
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import describe_producers as producers
from barnabas.wire.messages import describe_transactions as described
from barnabas.wire.messages import list_transactions as listed
from barnabas.wire.messages import write_txn_markers as markers
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.client.fake_broker import FakeBroker

NOW_MS = 1_000_000
PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


class Truth:
    """`open` holds producer ids and the start of their transaction in each partition; `known` the
    transactional ids with their producer and the partitions that their coordinator has written
    down."""

    def __init__(self, broker: FakeBroker) -> None:
        self.open: dict[int, dict[int, int]] = {0: {}, 1: {}}
        self.known: dict[str, tuple[int, list[int]]] = {}
        self.forgotten: set[str] = set()
        self.last_timestamp = NOW_MS - 1
        self.asked = 0
        self.ended_meanwhile: list[int] = []
        self.written: list[markers.WritableTxnMarker] = []
        broker.on(FindCoordinatorRequest, lambda _: FindCoordinatorResponse(node_id=1))
        broker.on(producers.DescribeProducersRequest, self.producers)
        broker.on(listed.ListTransactionsRequest, self.list)
        broker.on(described.DescribeTransactionsRequest, self.describe)
        broker.on(markers.WriteTxnMarkersRequest, self.write)

    def producers(self, request: Any) -> Any:
        self.asked += 1
        if self.asked == 2:
            for producer_id in self.ended_meanwhile:
                self.open[0].pop(producer_id)
        return producers.DescribeProducersResponse(
            topics=[
                producers.TopicResponse(
                    topic.name,
                    [
                        producers.PartitionResponse(
                            partition_index=index,
                            active_producers=[
                                producers.ProducerState(
                                    producer_id=producer_id,
                                    producer_epoch=3,
                                    last_timestamp=self.last_timestamp,
                                    coordinator_epoch=-1,
                                    current_txn_start_offset=start,
                                )
                                for producer_id, start in self.open[index].items()
                            ],
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )

    def list(self, request: Any) -> Any:
        return listed.ListTransactionsResponse(
            transaction_states=[
                listed.TransactionState(name, producer_id, "Ongoing")
                for name, (producer_id, _) in self.known.items()
                if producer_id in request.producer_id_filters
            ]
        )

    def describe(self, request: Any) -> Any:
        (name,) = request.transactional_ids
        if name in self.forgotten:
            code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            return described.DescribeTransactionsResponse(
                transaction_states=[described.TransactionState(error_code=code)]
            )
        producer_id, partitions = self.known[name]
        topics = [described.TopicData("t", partitions)] if partitions else []
        return described.DescribeTransactionsResponse(
            transaction_states=[
                described.TransactionState(
                    transactional_id=name,
                    transaction_state="Ongoing",
                    producer_id=producer_id,
                    topics=topics,
                )
            ]
        )

    def write(self, request: Any) -> Any:
        self.written += request.markers
        return markers.WriteTxnMarkersResponse(
            markers=[
                markers.WritableTxnMarkerResult(
                    each.producer_id,
                    [
                        markers.WritableTxnMarkerTopicResult(
                            topic.name,
                            [
                                markers.WritableTxnMarkerPartitionResult(index)
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in each.topics
                    ],
                )
                for each in request.markers
            ]
        )


async def hanging(truth: Truth, broker: FakeBroker) -> list[tuple[int, int]]:
    async with ClusterClient(broker.bootstrap) as cluster:
        found = await find_hanging(cluster, PARTITIONS, idle_since_ms=NOW_MS)
    return [(each.partition.partition, each.producer_id) for each in found]


def test_what_a_coordinator_knows_of_does_not_hang() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker:
            truth = Truth(broker)
            assert await hanging(truth, broker) == []
            truth.open = {0: {1: 10, 2: 20, 3: 30}, 1: {1: 11, 4: -1}}
            truth.known = {"one": (1, [0]), "three": (3, [0, 1])}
            # 1 hangs in partition 1 only, 2 is unknown, 4 has nothing open.
            assert await hanging(truth, broker) == [(0, 2), (1, 1)]
            truth.forgotten = {"three"}
            assert await hanging(truth, broker) == [(0, 2), (0, 3), (1, 1)]

    run(main())


def test_who_wrote_a_moment_ago_does_not_hang() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker:
            truth = Truth(broker)
            truth.open[0] = {1: 10}
            truth.last_timestamp = NOW_MS + 1
            assert await hanging(truth, broker) == []
            truth.last_timestamp = NOW_MS
            assert await hanging(truth, broker) == [(0, 1)]

    run(main())


def test_what_ends_while_it_is_looked_at_does_not_hang() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker:
            truth = Truth(broker)
            truth.open[0] = {1: 10, 2: 20}
            truth.ended_meanwhile = [1]
            assert await hanging(truth, broker) == [(0, 2)]

    run(main())


def test_a_transaction_is_ended_in_the_name_of_its_producer() -> None:
    async def main() -> None:
        async with FakeBroker({"t": 2}) as broker:
            truth = Truth(broker)
            truth.open[1] = {5: 10}
            async with ClusterClient(broker.bootstrap) as cluster:
                (producer,) = await describe_producers(cluster, [PARTITIONS[1]])
                await abort_transaction(cluster, producer)
            (marker,) = truth.written
            assert (marker.producer_id, marker.producer_epoch) == (5, 3)
            assert not marker.transaction_result
            assert marker.coordinator_epoch == 0
            assert [(each.name, each.partition_indexes) for each in marker.topics] == [("t", [1])]

    run(main())

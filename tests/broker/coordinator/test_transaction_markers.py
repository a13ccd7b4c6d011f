"""Markers reach every partition of a transaction, whatever happens to their leaders meanwhile."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.coordinator import transaction_markers
from barnabas.broker.coordinator.marker_appends import COMMIT_TIMEOUT_MS
from barnabas.broker.coordinator.transaction_markers import TransactionMarkers
from barnabas.broker.net.peers import PeerUnavailable
from barnabas.metadata.image import MetadataImage
from barnabas.transactions import MarkersToWrite, TopicPartition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata_records import PartitionRecord, TopicRecord
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.wait import wait_until_async

ME, OTHER = 1, 2
EPOCH = 5
MARKERS = MarkersToWrite("tx", 7, 3, True, 2, frozenset({("t", 0), ("t", 1)}))

Answer = Callable[[str, int], ErrorCode]


def well(_topic: str, _index: int) -> ErrorCode:
    return ErrorCode.NONE


def answered(request: WriteTxnMarkersRequest, error_of: Answer) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(index, error_of(topic.name, index))
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


class Shard:
    """What stands for the coordinator's partition."""

    leader_epoch = EPOCH

    def __init__(self) -> None:
        self.leads = True
        self.known: list[TopicPartition] = []
        self.gone: set[TopicPartition] = set()

    def awaits(self, markers: MarkersToWrite, partition: TopicPartition) -> bool:
        return self.leads and partition in markers.partitions.difference(self.gone)

    def written(self, markers: MarkersToWrite, partitions: list[TopicPartition]) -> None:
        assert markers is MARKERS
        self.known += partitions


class Stage:
    """Partition 0 of topic t is led here, partition 1 by another node."""

    def __init__(self) -> None:
        self.shard = Shard()
        self.image = MetadataImage()
        self.image.replay(TopicRecord("t", bytes(16)))
        for index, leader in enumerate((ME, OTHER)):
            self.image.replay(
                PartitionRecord(
                    index,
                    bytes(16),
                    [ME, OTHER],
                    [ME, OTHER],
                    leader=leader,
                    leader_epoch=10 + index,
                )
            )
        self.requests: list[tuple[int, WriteTxnMarkersRequest, Future[Any]]] = []
        self.markers = TransactionMarkers(
            asyncio.get_running_loop(),
            ME,
            self,  # type: ignore[arg-type]
            self.image,
            lambda request: self._asked(ME, request),
        )

    def call(
        self, node_id: int, request: Any, version: int, *, timeout_ms: int, lane: str
    ) -> "Future[Any]":
        assert (version, lane) == (2, "markers")
        assert COMMIT_TIMEOUT_MS < timeout_ms <= 5_000, "a silent node holds transactions up"
        return self._asked(node_id, request)

    def _asked(self, node_id: int, request: WriteTxnMarkersRequest) -> "Future[Any]":
        answer: Future[Any] = asyncio.get_running_loop().create_future()
        self.requests.append((node_id, request, answer))
        return answer

    def lead(self, index: int, leader: int) -> None:
        partitions = self.image.topics["t"].partitions
        partitions[index] = replace(partitions[index], leader=leader)

    def write(self) -> None:
        self.markers.write(self.shard, MARKERS)  # type: ignore[arg-type]

    async def requested(self, count: int) -> None:
        await wait_until_async(lambda: len(self.requests) >= count)

    async def answer(self, number: int, error_of: Answer = well) -> None:
        _, request, answer = self.requests[number]
        answer.set_result(answered(request, error_of))
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(Stage())

    asyncio.run(run())


def test_each_leader_is_asked_for_its_own() -> None:
    async def scenario(stage: Stage) -> None:
        stage.write()
        await stage.requested(2)
        for node_id, request, _ in stage.requests:
            (marker,) = request.markers
            assert [topic.partition_indexes for topic in marker.topics] == [[node_id - 1]]
            assert [topic.leader_epochs for topic in marker.topics] == [[9 + node_id]]
            assert (marker.producer_id, marker.producer_epoch) == (7, 3)
            assert (marker.transaction_result, marker.transaction_version) == (True, 2)
            assert marker.coordinator_epoch == EPOCH
        await stage.answer(0)
        assert len(stage.shard.known) == 1
        await stage.answer(1)
        assert set(stage.shard.known) == MARKERS.partitions

    play(scenario)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_what_a_leader_can_not_do_now_is_tried_again(error: ErrorCode) -> None:
    async def scenario(stage: Stage) -> None:
        stage.lead(1, ME)
        stage.write()
        await stage.requested(1)
        await stage.answer(0, lambda _, index: error if index else ErrorCode.NONE)
        assert stage.shard.known == [("t", 0)]
        stage.lead(1, OTHER)
        await stage.requested(2)
        assert stage.requests[1][0] == OTHER, "who leads it now"
        await stage.answer(1)
        assert set(stage.shard.known) == MARKERS.partitions

    play(scenario)


def test_a_node_that_is_gone_is_tried_again() -> None:
    async def scenario(stage: Stage) -> None:
        stage.write()
        await stage.requested(2)
        await stage.answer(0)
        stage.requests[1][2].set_exception(PeerUnavailable("it is gone"))
        await stage.requested(3)
        await stage.answer(2)
        assert set(stage.shard.known) == MARKERS.partitions

    play(scenario)


def test_what_comes_while_a_node_is_busy_is_sent_together() -> None:
    async def scenario(stage: Stage) -> None:
        stage.write()
        await stage.requested(2)
        stage.write()
        stage.write()
        await asyncio.sleep(0.01)
        assert len(stage.requests) == 2
        await stage.answer(0)
        await stage.requested(3)

    play(scenario)


def test_a_topic_that_is_gone_needs_no_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_markers, "_GONE_AFTER_TRIES", 2)

    async def scenario(stage: Stage) -> None:
        stage.image.topics.clear()
        stage.write()
        assert not stage.shard.known, "this node may not have heard of it yet"
        await wait_until_async(lambda: set(stage.shard.known) == MARKERS.partitions)
        assert not stage.requests

    play(scenario)


def test_whoever_leads_no_more_writes_no_more() -> None:
    async def scenario(stage: Stage) -> None:
        stage.write()
        await stage.requested(2)
        stage.shard.leads = False
        await stage.answer(0, lambda *_: ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await asyncio.sleep(0.1)
        assert len(stage.requests) == 2

    play(scenario)


def test_a_topic_that_comes_again_gets_no_old_marker() -> None:
    """Its transaction was over when the topic went; the next one may be writing to it by now."""

    async def scenario(stage: Stage) -> None:
        stage.lead(1, -1)
        stage.write()
        await stage.requested(1)
        await stage.answer(0)
        stage.shard.gone = {("t", 1)}
        stage.lead(1, OTHER)
        await asyncio.sleep(0.2)
        assert len(stage.requests) == 1

    play(scenario)

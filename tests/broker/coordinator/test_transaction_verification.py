"""Asking the coordinator whether a partition may be written for a transaction."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.broker.coordinator import transaction_verification
from barnabas.broker.coordinator.transaction_verification import TransactionVerification
from barnabas.broker.net.peers import PeerUnavailable
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.decision import CoordinatorRecord, ProducerIdAndEpoch
from barnabas.metadata.image import TRANSACTION_STATE, MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.messages.metadata_records import PartitionRecord, TopicRecord
from tests.broker.fake_partition import FakePartition
from tests.support.wait import wait_until_async

ME, COORDINATOR = 1, 2
PRODUCER = 7


def answer(request: AddPartitionsToTxnRequest, error: ErrorCode) -> AddPartitionsToTxnResponse:
    (asked,) = request.transactions
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                asked.transactional_id,
                [
                    AddPartitionsToTxnTopicResult(
                        topic.name,
                        [AddPartitionsToTxnPartitionResult(i, error) for i in topic.partitions],
                    )
                    for topic in asked.topics
                ],
            )
        ]
    )


class Stage:
    """Another node is the coordinator, and answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[AddPartitionsToTxnRequest, Future[Any]]] = []
        image = MetadataImage()
        image.replay(TopicRecord(TRANSACTION_STATE, bytes(16)))
        image.replay(
            PartitionRecord(0, bytes(16), [COORDINATOR], [COORDINATOR], leader=COORDINATOR)
        )
        self.heard: list[tuple[str, ErrorCode]] = []
        self.transaction_verification = TransactionVerification(
            asyncio.get_running_loop(),
            Clock(),
            ME,
            self,  # type: ignore[arg-type]
            image,
            self,  # type: ignore[arg-type]
        )

    def call(
        self, node_id: int, request: Any, version: int, *, timeout_ms: int, lane: str
    ) -> "Future[Any]":
        assert (node_id, version, lane) == (COORDINATOR, 5, "transactions")
        assert timeout_ms > 0
        answered: Future[Any] = asyncio.get_running_loop().create_future()
        self.asked.append((request, answered))
        return answered

    def enlist(
        self, partition: FakePartition, who: str, *, epoch: int = 0, adds: bool = False
    ) -> None:
        self.transaction_verification.when_verified(
            partition,
            "tx",
            PRODUCER,
            epoch,
            adds=adds,
            done=lambda error: self.heard.append((who, error)),
        )

    async def answer(self, error: ErrorCode = ErrorCode.NONE) -> None:
        request, answered = self.asked[-1]
        answered.set_result(answer(request, error))
        await turns()


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(Stage())

    asyncio.run(run())


@pytest.mark.parametrize("adds", [True, False])
def test_the_coordinator_is_asked(adds: bool) -> None:
    async def scenario(stage: Stage) -> None:
        stage.enlist(FakePartition(), "a", adds=adds)
        await turns()
        assert not stage.heard
        ((request, _),) = stage.asked
        (asked,) = request.transactions
        assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == ("tx", 7, 0)
        assert asked.verify_only is not adds
        await stage.answer()
        assert stage.heard == [("a", ErrorCode.NONE)]

    play(scenario)


def test_what_comes_together_is_asked_together() -> None:
    async def scenario(stage: Stage) -> None:
        stage.enlist(FakePartition(0), "a")
        stage.enlist(FakePartition(1), "b")
        await turns()
        ((request, _),) = stage.asked
        assert [topic.partitions for topic in request.transactions[0].topics] == [[0, 1]]
        await stage.answer(ErrorCode.TRANSACTION_ABORTABLE)
        assert stage.heard == [(who, ErrorCode.TRANSACTION_ABORTABLE) for who in "ab"]

    play(scenario)


def test_who_comes_later_waits_behind() -> None:
    async def scenario(stage: Stage) -> None:
        partition = FakePartition()
        stage.enlist(partition, "a")
        await turns()
        stage.enlist(partition, "b")
        await turns()
        assert len(stage.asked) == 1
        await stage.answer()
        assert stage.heard == [("a", ErrorCode.NONE), ("b", ErrorCode.NONE)]

    play(scenario)


def test_a_coordinator_that_is_busy_is_asked_again() -> None:
    async def scenario(stage: Stage) -> None:
        stage.enlist(FakePartition(), "a", adds=True)
        await turns()
        await stage.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
        await wait_until_async(lambda: len(stage.asked) == 2)
        stage.asked[-1][1].set_exception(PeerUnavailable("it has gone"))
        await wait_until_async(lambda: len(stage.asked) == 3)
        await stage.answer()
        assert stage.heard == [("a", ErrorCode.NONE)]

    play(scenario)


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_verification, "_PATIENCE_MS", 0)

    async def scenario(stage: Stage) -> None:
        stage.enlist(FakePartition(), "a")
        await turns()
        await stage.answer(ErrorCode.NOT_COORDINATOR)
        assert stage.heard == [("a", ErrorCode.NOT_COORDINATOR)]

    play(scenario)


def test_a_marker_voids_what_is_being_verified() -> None:
    async def scenario(stage: Stage) -> None:
        partition, other = FakePartition(0), FakePartition(1)
        stage.enlist(partition, "a")
        stage.enlist(other, "b")
        await turns()
        stage.transaction_verification.transaction_ended(partition, 1, PRODUCER, True)
        assert stage.heard == [("a", ErrorCode.INVALID_TXN_STATE)]
        await stage.answer()
        assert stage.heard[1:] == [("b", ErrorCode.NONE)]

    play(scenario)


def test_a_marker_of_the_last_transaction_does_not_stop_the_next() -> None:
    """The newer generation fences by its epoch, and may begin before the last one's marker."""

    async def scenario(stage: Stage) -> None:
        partition = FakePartition()
        stage.enlist(partition, "a", epoch=1, adds=True)
        await turns()
        stage.transaction_verification.transaction_ended(partition, 1, PRODUCER, True)
        await stage.answer()
        assert stage.heard == [("a", ErrorCode.NONE)]

    play(scenario)


def test_what_goes_on_here_is_that_of_the_same_epoch() -> None:
    """The next transaction may begin here before the marker of the last one has come."""

    async def scenario(stage: Stage) -> None:
        partition = FakePartition()
        partition.store(CoordinatorRecord(b"k", b"v"), producer=ProducerIdAndEpoch(PRODUCER, 3))
        stage.enlist(partition, "goes on", epoch=3, adds=True)
        assert stage.heard == [("goes on", ErrorCode.NONE)]
        stage.enlist(partition, "next", epoch=4, adds=True)
        await turns()
        assert len(stage.asked) == 1
        await stage.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
        partition.store_marker(ProducerIdAndEpoch(PRODUCER, 4), is_commit=True)
        await wait_until_async(lambda: len(stage.asked) == 2)
        await stage.answer()
        assert stage.heard[1:] == [("next", ErrorCode.NONE)]

    play(scenario)


def test_another_leader_may_have_ended_it_meanwhile() -> None:
    async def scenario(stage: Stage) -> None:
        partition = FakePartition()
        stage.enlist(partition, "a")
        await turns()
        partition.lead(partition.leader_epoch + 2)
        await stage.answer()
        assert stage.heard == [("a", ErrorCode.NOT_LEADER_OR_FOLLOWER)]

    play(scenario)

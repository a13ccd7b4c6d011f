"""Transactions with a coordinator that refuses, is busy, falls silent, or forgets."""

# ruff: noqa: PT012 - what a transaction does is a block
import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    CommitUncertain,
    InvalidArgument,
    ProducerFenced,
    TransactionAborted,
)
from barnabas.records.batch import parse_header
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run
from tests.support.wait import wait_until_async

CLASSIC, IMPLICIT = 1, 2
both = pytest.mark.parametrize("level", [CLASSIC, IMPLICIT])


class Coordinator:
    """Does what it is asked; `refusals` holds, for each API, the codes of its next answers.

    None stands for no answer at all. `told` is what it heard, in order.
    """

    def __init__(self, broker: FakeBroker, level: int) -> None:
        self.level = level
        self.epoch = -1
        self.told: list[str] = []
        self.batches: list[tuple[int, int]] = []  # epoch and base sequence
        self.refusals: dict[str, list[int | None]] = {}
        broker.features = {"transaction.version": level}
        broker.on(FindCoordinatorRequest, lambda _: FindCoordinatorResponse(node_id=1))
        broker.on(InitProducerIdRequest, self.init)
        broker.on(AddPartitionsToTxnRequest, self.add_partitions)
        broker.on(AddOffsetsToTxnRequest, self.add_offsets)
        broker.on(TxnOffsetCommitRequest, self.commit_offsets)
        broker.on(EndTxnRequest, self.end)
        broker.on(ProduceRequest, self.produce)

    def _code(self, what: str, api: str) -> int | None:
        self.told.append(what)
        left = self.refusals.get(api)
        return left.pop(0) if left else 0

    def init(self, request: InitProducerIdRequest) -> InitProducerIdResponse | None:
        known = request.producer_epoch >= 0
        code = self._code("raise epoch" if known else "init", "init")
        if code is None:
            return None
        if known:
            assert (request.producer_id, request.producer_epoch) == (7, self.epoch)
        self.epoch += code == 0
        return InitProducerIdResponse(error_code=code, producer_id=7, producer_epoch=self.epoch)

    def add_partitions(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        assert request.v3_and_below_producer_epoch == self.epoch
        code = self._code("add partitions", "add partitions")
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(
                            each, code if each == max(topic.partitions) or not code else 55
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ]
        )

    def add_offsets(self, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
        code = self._code(f"add offsets of {request.group_id}", "add offsets")
        return AddOffsetsToTxnResponse(error_code=code or 0)

    def commit_offsets(self, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
        by = f"{request.member_id}/{request.generation_id}"
        code = self._code(f"offsets of {request.group_id} by {by}", "offsets")
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    topic.name,
                    [
                        TxnOffsetCommitResponsePartition(each.partition_index, code or 0)
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def end(self, request: EndTxnRequest) -> EndTxnResponse | None:
        code = self._code("commit" if request.committed else "abort", "end")
        if code is None:
            return None
        if self.level == IMPLICIT and code == 0:
            self.epoch = request.producer_epoch + 1
        return EndTxnResponse(error_code=code, producer_id=7, producer_epoch=self.epoch)

    def produce(self, request: ProduceRequest) -> ProduceResponse | None:
        assert request.transactional_id == "id"
        code = self._code("produce", "produce")
        if code is None:
            return None
        for topic in request.topic_data:
            for data in topic.partition_data:
                header = parse_header(bytes(data.records or b""))
                assert header.is_transactional
                assert header.producer_id == 7
                self.batches.append((header.producer_epoch, header.base_sequence))
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        PartitionProduceResponse(index=data.index, error_code=code)
                        for data in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )


@asynccontextmanager
async def producer_of(
    level: int,
    *,
    retry_timeout_ms: int = 60_000,
    request_timeout_ms: int = 60_000,
    delivery_timeout_ms: int = 60_000,
) -> Any:
    async with FakeBroker({"t": 2}) as broker:
        coordinator = Coordinator(broker, level)
        async with (
            ClusterClient(
                broker.bootstrap,
                retry_timeout_ms=retry_timeout_ms,
                request_timeout_ms=request_timeout_ms,
            ) as cluster,
            RecordProducer(
                cluster, transactional_id="id", delivery_timeout_ms=delivery_timeout_ms
            ) as producer,
        ):
            yield producer, coordinator, broker


def versions(broker: FakeBroker, kind: type[Any]) -> set[int]:
    return {
        version
        for request, version in zip(broker.seen, broker.seen_versions, strict=True)
        if isinstance(request, kind)
    }


def test_the_older_generation_adds_before_it_writes_and_numbers_on() -> None:
    async def main() -> None:
        async with producer_of(CLASSIC) as (producer, coordinator, broker):
            for _ in range(2):
                async with producer.transaction():
                    await producer.send("t", b"1", partition=0)
                    await producer.flush()
                    await producer.send("t", b"2", partition=0)
            assert coordinator.told == [
                "init",
                *["add partitions", "produce", "produce", "commit"] * 2,
            ]
            assert coordinator.batches == [(0, 0), (0, 1), (0, 2), (0, 3)]
            assert versions(broker, ProduceRequest) == {11}
            assert versions(broker, EndTxnRequest) == {4}
            assert versions(broker, AddPartitionsToTxnRequest) == {3}

    run(main())


def test_the_newer_generation_only_writes_and_begins_anew_with_every_epoch() -> None:
    async def main() -> None:
        async with producer_of(IMPLICIT) as (producer, coordinator, broker):
            for _ in range(2):
                async with producer.transaction():
                    await producer.send("t", b"1", partition=0)
                    await producer.flush()
                    await producer.send("t", b"2", partition=0)
            assert coordinator.told == ["init", *["produce", "produce", "commit"] * 2]
            assert coordinator.batches == [(0, 0), (0, 1), (1, 0), (1, 1)]
            assert versions(broker, ProduceRequest) == {12}
            assert versions(broker, EndTxnRequest) == {5}

    run(main())


@both
def test_offsets_go_along_in_the_name_of_the_member(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, broker):
            async with producer.transaction() as transaction:
                for _ in range(2):
                    await transaction.send_offsets(
                        "g", {TopicPartition("t", 0): 5}, GroupMembership("m", 3)
                    )
            added = ["add offsets of g"] if level == CLASSIC else []
            told = ["init", *added, *["offsets of g by m/3"] * 2, "commit"]
            assert coordinator.told == told
            assert versions(broker, TxnOffsetCommitRequest) == {4 if level == CLASSIC else 5}

    run(main())


@both
def test_an_exception_rolls_back_and_what_was_not_sent_never_is(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            producer._accumulator.linger = 10
            with pytest.raises(KeyError):
                async with producer.transaction():
                    await producer.send("t", b"1")
                    await producer.flush()
                    waiting = await producer.send("t", b"2")
                    raise KeyError
            assert coordinator.told[-2:] == ["produce", "abort"]
            with pytest.raises(TransactionAborted):
                await waiting
            assert producer.count.delivered == 1
            assert producer.count.failed == 1

    run(main())


@both
def test_a_cancelled_transaction_is_rolled_back(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):

            async def work() -> None:
                async with producer.transaction():
                    await producer.send("t", b"1")
                    await producer.flush()
                    await asyncio.sleep(60)

            task = asyncio.create_task(work())
            await wait_until_async(lambda: "produce" in coordinator.told)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert coordinator.told[-1] == "abort"

    run(main())


@both
def test_a_refused_record_dooms_the_transaction_and_not_the_next(level: int) -> None:
    """After it the next number is unknown, so the epoch has to grow either way."""

    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["produce"] = [ErrorCode.INVALID_RECORD]
            with pytest.raises(TransactionAborted, match="INVALID_RECORD") as raised:
                async with producer.transaction():
                    future = await producer.send("t", b"bad", partition=0)
                    await producer.flush()
                    with pytest.raises(BrokerError):
                        await future
                    await producer.send("t", b"never sent")
            assert not raised.value.retriable
            tail = ["abort", "raise epoch"] if level == CLASSIC else ["abort"]
            assert coordinator.told[-len(tail) :] == tail
            async with producer.transaction():
                await producer.send("t", b"good", partition=0)
            assert coordinator.batches[-1] == (1, 0)
            assert coordinator.told[-1] == "commit"

    run(main())


@both
def test_a_commit_finds_out_that_a_record_was_refused(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["produce"] = [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
            with pytest.raises(TransactionAborted) as raised:
                async with producer.transaction():
                    await producer.send("t", b"bad")
            assert raised.value.retriable
            assert "commit" not in coordinator.told

    run(main())


@both
def test_retries_keep_their_numbers(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["produce"] = [
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.NOT_ENOUGH_REPLICAS,
            ]
            async with producer.transaction():
                await producer.send("t", b"1")
            assert coordinator.batches == [(0, 0)] * 4
            assert coordinator.told[-1] == "commit"

    run(main())


@both
@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_fenced_producer_is_at_its_end(level: int, code: ErrorCode) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["end"] = [code]
            with pytest.raises(ProducerFenced):
                async with producer.transaction():
                    await producer.send("t", b"1")
            with pytest.raises(ProducerFenced):
                async with producer.transaction():
                    pass
            assert coordinator.told.count("commit") == 1
            assert "abort" not in coordinator.told

    run(main())


def test_a_fenced_producer_learns_it_when_it_adds_a_partition() -> None:
    async def main() -> None:
        async with producer_of(CLASSIC) as (producer, coordinator, _):
            coordinator.refusals["add partitions"] = [ErrorCode.PRODUCER_FENCED]
            with pytest.raises(ProducerFenced):
                async with producer.transaction():
                    await producer.send("t", b"1", partition=0)
                    await producer.send("t", b"1", partition=1)
            assert "produce" not in coordinator.told
            assert producer.count.failed == 2

    run(main())


def test_what_is_added_while_the_producer_is_fenced_is_not_sent() -> None:
    async def main() -> None:
        async with producer_of(CLASSIC) as (producer, coordinator, broker):
            coordinator.refusals["add partitions"] = [ErrorCode.PRODUCER_FENCED]
            second: list[asyncio.Task[object]] = []

            def refuse(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
                sent = producer.send("t", b"1", partition=1)
                second.append(asyncio.get_running_loop().create_task(sent))
                return coordinator.add_partitions(request)

            broker.on(AddPartitionsToTxnRequest, refuse)
            with pytest.raises(ProducerFenced):
                async with producer.transaction():
                    await producer.send("t", b"1", partition=0)
                    await wait_until_async(lambda: bool(second))
            await asyncio.wait(second)
            assert coordinator.told == ["init", "add partitions"]

    run(main())


@both
def test_a_fenced_body_keeps_its_own_exception(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["end"] = [ErrorCode.PRODUCER_FENCED]
            with pytest.raises(KeyError) as raised:
                async with producer.transaction():
                    await producer.send("t", b"1")
                    await producer.flush()
                    raise KeyError
            assert "taken it over" in raised.value.__notes__[0]

    run(main())


@both
def test_a_commit_is_asked_for_again_when_its_answer_is_lost(level: int) -> None:
    async def main() -> None:
        async with producer_of(level, request_timeout_ms=1_500) as (producer, coordinator, _):
            coordinator.refusals["end"] = [None, ErrorCode.NOT_COORDINATOR]
            async with producer.transaction():
                await producer.send("t", b"1")
            assert coordinator.told.count("commit") == 3
            async with producer.transaction():
                await producer.send("t", b"2")

    run(main())


@both
def test_a_commit_that_nobody_confirms_is_uncertain(level: int) -> None:
    async def main() -> None:
        async with producer_of(level, request_timeout_ms=1_000, retry_timeout_ms=1_200) as (
            producer,
            coordinator,
            _,
        ):
            coordinator.refusals["end"] = [None] * 10
            with pytest.raises(CommitUncertain, match="may have happened or not"):
                async with producer.transaction():
                    await producer.send("t", b"1")
            assert "abort" not in coordinator.told
            with pytest.raises(CommitUncertain):
                async with producer.transaction():
                    pass

    run(main())


@both
def test_no_transaction_begins_before_the_last_one_has_ended(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, broker):
            answer = asyncio.Event()

            async def end_late(request: EndTxnRequest) -> EndTxnResponse | None:
                await answer.wait()
                return coordinator.end(request)

            broker.on(EndTxnRequest, end_late)
            transaction = producer.transaction()
            transaction.begin()
            await producer.send("t", b"1")
            committing = asyncio.create_task(transaction.commit())
            await wait_until_async(lambda: broker.count(EndTxnRequest))
            with pytest.raises(InvalidArgument, match="another transaction"):
                producer.transaction().begin()
            with pytest.raises(InvalidArgument, match="being ended"):
                await producer.send("t", b"2")
            answer.set()
            await committing
            producer.transaction().begin()

    run(main())


@both
def test_a_roll_back_that_is_cut_short_ends_the_producer(level: int) -> None:
    """A batch of the old transaction may still be on its way: it must not meet the next one."""

    async def main() -> None:
        # Closing the producer waits for that batch, until it is given up.
        async with producer_of(level, delivery_timeout_ms=1_500) as (producer, coordinator, broker):
            broker.on(ProduceRequest, lambda _: None)
            transaction = producer.transaction()
            transaction.begin()
            await producer.send("t", b"1")
            await wait_until_async(lambda: broker.count(ProduceRequest))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await transaction.abort()
            with pytest.raises(BrokerError, match="create a new producer"):
                producer.transaction().begin()
            assert "abort" not in coordinator.told

    run(main())


@both
def test_a_commit_that_is_cancelled_is_uncertain(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["end"] = [None]

            async def work() -> None:
                async with producer.transaction():
                    await producer.send("t", b"1")

            task = asyncio.create_task(work())
            await wait_until_async(lambda: "commit" in coordinator.told)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert "abort" not in coordinator.told
            with pytest.raises(CommitUncertain):
                async with producer.transaction():
                    pass

    run(main())


@both
@pytest.mark.parametrize(
    "code", [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE], ids=lambda c: c.name
)
def test_a_commit_that_is_refused_for_good_is_rolled_back(level: int, code: ErrorCode) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["end"] = [code]
            with pytest.raises(TransactionAborted) as raised:
                async with producer.transaction():
                    await producer.send("t", b"1")
            assert raised.value.retriable
            assert coordinator.told[-2:] == ["commit", "abort"]
            async with producer.transaction():
                await producer.send("t", b"2")
            assert coordinator.told[-1] == "commit"

    run(main())


@both
def test_a_group_that_has_moved_on_gets_no_offsets(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["offsets"] = [ErrorCode.ILLEGAL_GENERATION]
            with pytest.raises(BrokerError, match="ILLEGAL_GENERATION"):
                async with producer.transaction() as transaction:
                    await transaction.send_offsets("g", {TopicPartition("t", 0): 5})
            assert coordinator.told[-1] == "abort"

    run(main())


def test_a_busy_coordinator_is_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.client.connect.cluster_client.RETRY", Backoff(40.0, 40.0))

    async def main() -> None:
        async with producer_of(CLASSIC) as (producer, coordinator, broker):
            coordinator.refusals["add partitions"] = [ErrorCode.CONCURRENT_TRANSACTIONS] * 3
            asked = broker.count(FindCoordinatorRequest)
            began = asyncio.get_running_loop().time()
            async with producer.transaction():
                await producer.send("t", b"1", partition=1)
            assert asyncio.get_running_loop().time() - began < 30
            assert coordinator.told.count("add partitions") == 4
            assert broker.count(FindCoordinatorRequest) == asked

    run(main())


def test_the_partition_that_is_wrong_is_named_and_not_those_passed_over() -> None:
    async def main() -> None:
        async with producer_of(CLASSIC) as (producer, coordinator, _):
            coordinator.refusals["add partitions"] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
            with pytest.raises(BarnabasError, match="t-1: write is not allowed"):
                async with producer.transaction():
                    await producer.send("t", b"1", partition=0)
                    await producer.send("t", b"1", partition=1)

    run(main())


@both
def test_a_producer_that_is_left_rolls_back_what_is_open(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            producer.transaction().begin()
            await producer.send("t", b"1")
            await producer.flush()
        assert coordinator.told[-1] == "abort"

    run(main())


@both
def test_a_busy_partition_is_asked_again_at_once(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, broker):
            coordinator.refusals["produce"] = [ErrorCode.CONCURRENT_TRANSACTIONS] * 3
            asked = 0
            async with producer.transaction():
                await producer.send("t", b"1", partition=1)
                asked = broker.count(MetadataRequest)
            assert coordinator.told.count("produce") == 4
            assert broker.count(MetadataRequest) == asked

    run(main())


@both
def test_a_roll_back_does_not_look_for_another_leader(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, broker):
            answer = asyncio.Event()

            async def refuse(request: ProduceRequest) -> ProduceResponse | None:
                coordinator.refusals["produce"] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
                response = coordinator.produce(request)
                await answer.wait()
                return response

            broker.on(ProduceRequest, refuse)
            transaction = producer.transaction()
            transaction.begin()
            await producer.send("t", b"1", partition=0)
            await wait_until_async(lambda: "produce" in coordinator.told)
            asked = broker.count(MetadataRequest)
            ending = asyncio.create_task(transaction.abort())
            await asyncio.sleep(0.01)
            assert coordinator.told[-1] == "produce"
            answer.set()
            await ending
            assert "abort" in coordinator.told
            assert broker.count(MetadataRequest) == asked

    run(main())


@both
def test_a_roll_back_waits_for_the_batch_under_way_and_sends_it_no_second_time(level: int) -> None:
    async def main() -> None:
        async with producer_of(level) as (producer, coordinator, _):
            coordinator.refusals["produce"] = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 100
            with pytest.raises(KeyError):
                async with producer.transaction():
                    await producer.send("t", b"1")
                    await wait_until_async(lambda: coordinator.told.count("produce") >= 2)
                    raise KeyError
            attempts = coordinator.told.count("produce")
            last = "raise epoch" if level == CLASSIC else "abort"
            assert coordinator.told[-1] == last
            await asyncio.sleep(0.3)
            assert coordinator.told.count("produce") == attempts

    run(main())

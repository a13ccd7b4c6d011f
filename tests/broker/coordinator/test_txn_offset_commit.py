"""TxnOffsetCommit over the wire, in both generations of the protocol."""

from itertools import count
from pathlib import Path

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic, find_coordinator
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

CLASSIC, NEWER = 4, 5
TRANSACTION = 1

_ids = count()


class Producer:
    """One transactional id, and the group `g` for which it commits."""

    def __init__(self, client: RawClient, topic: str, transactional_id: str = "") -> None:
        self.client = client
        self.topic = topic
        self.transactional_id = transactional_id or f"id-{next(_ids)}"
        self.group = f"group of {self.transactional_id}"
        find_coordinator(client, self.group)
        self.init()

    def init(self) -> None:
        find = FindCoordinatorRequest(
            key_type=TRANSACTION, coordinator_keys=[self.transactional_id]
        )
        begin = InitProducerIdRequest(self.transactional_id, 60_000, -1, -1)

        def is_there() -> bool:
            self.client.ask(find)
            answer = self.client.ask(begin, 5)
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            return answer.error_code == ErrorCode.NONE

        wait_until(is_there, "no coordinator for the transaction")

    def add_offsets(self) -> int:
        return self.client.ask(
            AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, self.group),
            3,
        ).error_code

    def commit(
        self, offset: int, version: int, *, partition: int = 0, generation_id: int = -1
    ) -> ErrorCode:
        partitions = [TxnOffsetCommitRequestPartition(partition, offset)]
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            self.group,
            self.producer_id,
            self.epoch,
            generation_id,
            topics=[TxnOffsetCommitRequestTopic(self.topic, partitions)],
        )
        answer = self.client.ask(request, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, version: int, *, is_commit: bool = True) -> None:
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, is_commit)
        answer: EndTxnResponse = self.client.ask(request, version)
        assert answer.error_code == ErrorCode.NONE
        if version >= 5:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def fetch(self, *, require_stable: bool = False) -> tuple[int, int]:
        """The offset that is committed, and the error."""
        topics = [OffsetFetchRequestTopics(self.topic, partition_indexes=[0])]
        group = OffsetFetchRequestGroup(self.group, topics=topics)
        answer = self.client.ask(
            OffsetFetchRequest(groups=[group], require_stable=require_stable), 9
        )
        (partition,) = answer.groups[0].topics[0].partitions
        return partition.committed_offset, partition.error_code

    def stable(self) -> int:
        """The offset once nothing may change it any more: the marker comes after the answer."""
        wait_until(lambda: self.fetch(require_stable=True)[1] == ErrorCode.NONE, "it hangs")
        return self.fetch(require_stable=True)[0]


@pytest.fixture
def producer(client: RawClient, topic: str) -> Producer:
    create_topic(client, topic)
    return Producer(client, topic)


UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)


@pytest.mark.parametrize("version", range(CLASSIC + 1))
def test_the_classic_protocol(producer: Producer, version: int) -> None:
    assert producer.add_offsets() == ErrorCode.NONE
    assert producer.commit(5, version) == ErrorCode.NONE
    assert producer.commit(6, version) == ErrorCode.NONE
    assert producer.fetch() == (-1, ErrorCode.NONE)
    assert producer.fetch(require_stable=True) == UNSTABLE
    producer.end(CLASSIC)
    assert producer.stable() == 6
    assert producer.add_offsets() == ErrorCode.NONE
    assert producer.commit(7, version) == ErrorCode.NONE
    producer.end(CLASSIC, is_commit=False)
    assert producer.stable() == 6


def test_the_newer_protocol(producer: Producer) -> None:
    for offset, is_commit, shown in ((5, True, 5), (6, False, 5), (7, True, 7)):
        epoch = producer.epoch
        assert producer.commit(offset, NEWER) == ErrorCode.NONE
        assert producer.fetch(require_stable=True) == UNSTABLE
        producer.end(NEWER, is_commit=is_commit)
        assert producer.epoch == epoch + 1
        assert producer.stable() == shown


def test_stable_offsets_before_there_are_several_groups(producer: Producer) -> None:
    assert producer.commit(5, NEWER) == ErrorCode.NONE
    topics = [OffsetFetchRequestTopic(producer.topic, [0])]
    request = OffsetFetchRequest(producer.group, topics, require_stable=True)
    (partition,) = producer.client.ask(request, 7).topics[0].partitions
    assert (partition.committed_offset, partition.error_code) == UNSTABLE


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (0, ErrorCode.INVALID_TXN_STATE),
        (3, ErrorCode.INVALID_TXN_STATE),
        (4, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_offsets_that_were_not_added(producer: Producer, version: int, error: ErrorCode) -> None:
    assert producer.commit(5, version) == error
    assert producer.fetch(require_stable=True) == (-1, ErrorCode.NONE)


@pytest.mark.parametrize("version", [CLASSIC, NEWER])
def test_a_zombie(producer: Producer, version: int) -> None:
    producer.add_offsets()
    assert producer.commit(5, version) == ErrorCode.NONE
    zombie_epoch = producer.epoch
    producer.init()
    epoch, producer.epoch = producer.epoch, zombie_epoch
    assert epoch > zombie_epoch
    assert producer.commit(6, version) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.epoch = epoch
    assert producer.stable() == -1
    assert producer.commit(7, NEWER) == ErrorCode.NONE
    producer.end(NEWER)
    assert producer.stable() == 7


def test_a_late_commit_of_a_finished_transaction(producer: Producer) -> None:
    """Its epoch is that of the transaction, and the next one has another."""
    assert producer.commit(5, NEWER) == ErrorCode.NONE
    late = producer.epoch
    producer.end(NEWER)
    epoch, producer.epoch = producer.epoch, late
    assert producer.commit(6, NEWER) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.epoch = epoch
    assert producer.stable() == 5


def test_somebody_else_of_the_same_name(producer: Producer) -> None:
    producer.producer_id += 1_000_000
    error = producer.commit(5, NEWER)
    assert error == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_partition_that_there_is_not(producer: Producer) -> None:
    error = producer.commit(5, NEWER, partition=3)
    assert error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_generation_that_there_is_not(producer: Producer) -> None:
    assert producer.commit(5, NEWER, generation_id=4) == ErrorCode.ILLEGAL_GENERATION
    assert producer.fetch(require_stable=True) == (-1, ErrorCode.NONE)


def test_a_broker_that_falls_in_the_middle(tmp_path: Path) -> None:
    """It has the transaction when it is back, and shows its offsets when that is committed."""
    with BrokerProcess(tmp_path) as broker:
        with RawClient(broker.host, broker.port) as client:
            create_topic(client, "t")
            producer = Producer(client, "t", "falls")
            assert producer.commit(5, NEWER) == ErrorCode.NONE
        broker.kill()
        broker.start()
        with RawClient(broker.host, broker.port) as client:
            producer.client = client
            wait_until(lambda: producer.fetch(require_stable=True) == UNSTABLE, "it was lost")
            assert producer.fetch() == (-1, ErrorCode.NONE)

            def goes_on() -> bool:
                return producer.commit(6, NEWER) == ErrorCode.NONE

            wait_until(goes_on, "the transaction does not go on")
            producer.end(NEWER)
            assert producer.stable() == 6

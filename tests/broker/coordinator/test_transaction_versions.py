"""A whole transaction, from its beginning to its end, in every version of all that it takes.

Versions go up together: round `n` asks everything in version `n`, or in the newest there is.
"""

from typing import Any

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import BY_NAME, create_topic, fetch_one, find_coordinator, values_of
from tests.support.broker import BrokerProcess
from tests.support.peer import prove
from tests.support.wait import wait_until

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
BY_NODES = 4
IMPLICIT = 5
"""From this round on the second generation: partitions are added by who stores a batch, offsets by
the group's coordinator, and the epoch grows with each transaction."""


def version_of(request: type[Request[Any]], number: int) -> int:
    return min(max(number, request.MIN_VERSION), request.MAX_VERSION)


def add_partitions(name: str, producer: tuple[int, int], version: int) -> Request[Any]:
    """The topic and the transactional id have the same name."""
    topics = [AddPartitionsToTxnTopic(name, [0])]
    if version < 4:
        return AddPartitionsToTxnRequest([], name, *producer, topics)
    transaction = AddPartitionsToTxnTransaction(name, *producer, False, topics)
    return AddPartitionsToTxnRequest([transaction])


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("number", range(6 + 1))
def test_a_transaction(
    node: BrokerProcess, client: RawClient, topic: str, number: int, committed: bool
) -> None:
    def ask(request: Request[Any]) -> Any:
        return client.ask(request, version_of(type(request), number))

    create_topic(client, topic)
    find_coordinator(client, topic)
    client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[topic]))
    started = None

    def is_started() -> bool:
        nonlocal started
        started = ask(InitProducerIdRequest(topic, 60_000))
        return started.error_code == 0

    wait_until(is_started, "no coordinator for transactions")
    producer = (started.producer_id, started.producer_epoch)
    if number < IMPLICIT:
        if number >= BY_NODES:
            prove(client, node, 9)
        added = ask(add_partitions(topic, producer, number))
        by_topic = added.results_by_topic_v3_and_below
        by_topic = by_topic or added.results_by_transaction[0].topic_results
        assert by_topic[0].results_by_partition[0].partition_error_code == 0
        assert ask(AddOffsetsToTxnRequest(topic, *producer, topic)).error_code == 0
    producer_id, epoch = producer
    records = batch(
        b"a", producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True
    )
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    version = BY_NAME if number >= IMPLICIT else 7 + number
    stored = client.ask(ProduceRequest(topic, -1, 5000, [data]), version)
    assert stored.responses[0].partition_responses[0].error_code == 0
    offsets = [TxnOffsetCommitRequestTopic(topic, [TxnOffsetCommitRequestPartition(0, 5)])]
    kept = ask(TxnOffsetCommitRequest(topic, topic, *producer, topics=offsets))
    assert kept.topics[0].partitions[0].error_code == 0

    (described,) = ask(DescribeTransactionsRequest([topic])).transaction_states
    assert (described.error_code, described.transaction_state) == (0, "Ongoing")
    assert {found.topic for found in described.topics} == {topic, "__consumer_offsets"}
    listed = ask(ListTransactionsRequest(["Ongoing"], [producer_id])).transaction_states
    assert [found.transactional_id for found in listed] == [topic]
    (found,) = ask(DescribeProducersRequest([TopicRequest(topic, [0])])).topics[0].partitions
    assert found.active_producers[0].current_txn_start_offset == 0
    assert fetch_one(client, topic, isolation_level=1).records in (None, b"")

    ended = ask(EndTxnRequest(topic, *producer, committed))
    assert ended.error_code == 0
    if number >= IMPLICIT:
        assert (ended.producer_id, ended.producer_epoch) == (producer_id, epoch + 1)
        again = ask(EndTxnRequest(topic, *producer, committed))
        assert (again.error_code, again.producer_epoch) in (
            (0, epoch + 1),
            (ErrorCode.CONCURRENT_TRANSACTIONS, -1),
        )
    state = "CompleteCommit" if committed else "CompleteAbort"

    def is_complete() -> bool:
        (now,) = ask(DescribeTransactionsRequest([topic])).transaction_states
        return now.transaction_state == state

    wait_until(is_complete, "the transaction does not end")
    data = fetch_one(client, topic, isolation_level=1)
    assert (data.high_watermark, data.last_stable_offset) == (2, 2)
    if committed:
        assert values_of(data)[:1] == [b"a"]
        assert not data.aborted_transactions
    else:
        (aborted,) = data.aborted_transactions
        assert (aborted.producer_id, aborted.first_offset) == (producer_id, 0)
    wanted = OffsetFetchRequestGroup(
        topic, topics=[OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    )
    (group,) = client.ask(OffsetFetchRequest(groups=[wanted]), 9).groups
    assert group.topics[0].partitions[0].committed_offset == (5 if committed else -1)

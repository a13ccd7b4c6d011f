"""Transactions that wait for an external decision, over the wire and over a restart."""

from pathlib import Path
from typing import Any

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BROKER,
    BY_NAME,
    SET,
    alter,
    create_topic,
    fetch_one,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

ENABLE = "transaction.two.phase.commit.enable"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
NOTHING = (-1, -1)


def init(client: RawClient, name: str, **flags: bool) -> InitProducerIdResponse:
    """Ask until there is a coordinator that is not still ending something."""
    answers: list[Any] = []

    def is_answered() -> bool:
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]))
        answers.append(client.ask(InitProducerIdRequest(name, 60_000, **flags), 6))
        return answers[-1].error_code not in (
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        )

    wait_until(is_answered, "no coordinator for transactions")
    answer: InitProducerIdResponse = answers[-1]
    return answer


def write(client: RawClient, topic: str, producer: tuple[int, int]) -> ErrorCode:
    """The topic and the transactional id have the same name."""
    records = batch(
        b"a",
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=0,
        transactional=True,
    )
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    answer = client.ask(ProduceRequest(topic, -1, 5000, [data]), BY_NAME)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def test_it_is_allowed_until_it_is_forbidden(client: RawClient, topic: str) -> None:
    assert init(client, topic, enable2_pc=True).error_code == 0
    assert alter(client, (BROKER, ""), (ENABLE, SET, "false")) == (0, None)
    refused: list[InitProducerIdResponse] = []

    def is_refused() -> bool:
        refused.append(init(client, topic, enable2_pc=True))
        return bool(refused[-1].error_code)

    wait_until(is_refused, "it stays allowed")
    assert refused[-1].error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (refused[-1].producer_id, refused[-1].producer_epoch) == NOTHING
    assert alter(client, (BROKER, ""), (ENABLE, SET, "true")) == (0, None)


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
@pytest.mark.long
def test_a_transaction_is_kept_over_a_restart(tmp_path: Path, committed: bool) -> None:
    settings = SETTINGS | {ENABLE: "true"}
    with BrokerProcess(tmp_path, settings) as broker:
        with RawClient(broker.host, broker.port) as client:
            create_topic(client, "t")
            begun = init(client, "t", enable2_pc=True)
            writer = (begun.producer_id, begun.producer_epoch)
            assert write(client, "t", writer) is ErrorCode.NONE
        broker.kill()
        broker.start()
        with RawClient(broker.host, broker.port) as client:
            kept = init(client, "t", enable2_pc=True, keep_prepared_txn=True)
            owner = (kept.producer_id, kept.producer_epoch)
            assert (kept.ongoing_txn_producer_id, kept.ongoing_txn_producer_epoch) == writer
            assert owner == (writer[0], writer[1] + 1)
            (found,) = client.ask(DescribeTransactionsRequest(["t"])).transaction_states
            assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", 2**31 - 1)
            assert fetch_one(client, "t", isolation_level=1).records in (None, b"")
            fenced = client.ask(EndTxnRequest("t", *writer, committed), 5)
            assert fenced.error_code == ErrorCode.PRODUCER_FENCED
            ended = client.ask(EndTxnRequest("t", *owner, committed), 5)
            assert (ended.producer_id, ended.producer_epoch) == (owner[0], owner[1] + 1)

            def is_complete() -> bool:
                return fetch_one(client, "t", isolation_level=1).last_stable_offset == 2

            wait_until(is_complete, "the transaction does not end")
            data = fetch_one(client, "t", isolation_level=1)
            assert bool(data.aborted_transactions) is not committed
            assert values_of(data)[:1] == [b"a"]
            goes_on = (ended.producer_id, ended.producer_epoch)
            assert write(client, "t", goes_on) is ErrorCode.NONE
            assert write(client, "t", owner) is not ErrorCode.NONE

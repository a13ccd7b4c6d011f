"""An operator rolls back what hangs, and nothing else."""

import shutil
from pathlib import Path

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import create_topic
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {"transaction.state.log.num.partitions": "1"}


def state_of(client: RawClient) -> ProducerState:
    answer = client.ask(DescribeProducersRequest([TopicRequest("t", [0])]))
    (found,) = answer.topics[0].partitions[0].active_producers
    assert isinstance(found, ProducerState)
    return found


def begin(client: RawClient) -> ProducerState:
    """A transaction with one record in it."""
    client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]))
    init = InitProducerIdRequest("tx", 60_000)
    wait_until(lambda: client.ask(init).error_code == 0, "no coordinator for transactions")
    identity = client.ask(init)
    producer = (identity.producer_id, identity.producer_epoch)
    topics = [AddPartitionsToTxnTopic("t", [0])]
    client.ask(AddPartitionsToTxnRequest([], "tx", *producer, topics), 3)
    records = batch(
        b"hangs",
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=0,
        transactional=True,
    )
    data = TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])
    (answer,) = client.ask(ProduceRequest("tx", -1, 5000, [data]), 11).responses
    assert answer.partition_responses[0].error_code == 0
    return state_of(client)


def roll_back(client: RawClient, producer: ProducerState, coordinator_epoch: int = 0) -> int:
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.producer_epoch,
        False,
        [WritableTxnMarkerTopic("t", [0])],
        coordinator_epoch,
    )
    answer = client.ask(WriteTxnMarkersRequest([marker]))
    error: int = answer.markers[0].topics[0].partitions[0].error_code
    return error


def test_only_what_no_coordinator_knows_is_rolled_back(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        with RawClient(broker.host, broker.port) as client:
            create_topic(client, "t")
            found = begin(client)
            assert roll_back(client, found) == ErrorCode.INVALID_TXN_STATE
            assert state_of(client).current_txn_start_offset == 0
        broker.kill()
        for path in broker.data.glob("__transaction_state-*"):
            shutil.rmtree(path)
        broker.start()
        with RawClient(broker.host, broker.port) as client:
            # The coordinator has forgotten it: no one else will end it.
            assert state_of(client).current_txn_start_offset == 0
            absurd = roll_back(client, found, 2**31 - 1)
            assert absurd == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            wait_until(lambda: roll_back(client, found) == 0, "it is not rolled back")
            assert state_of(client).current_txn_start_offset == -1
            assert roll_back(client, found) == ErrorCode.INVALID_TXN_STATE, "it is over"

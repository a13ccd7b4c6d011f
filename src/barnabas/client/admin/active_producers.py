"""Producers as the leaders of partitions know them, and hanging transactions.

A transaction hangs in a partition when its coordinator no longer knows that it has to be ended
there: it was forgotten, or a late write began it again. Readers of committed records wait in front
of it until an operator aborts it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from barnabas.client.admin.transactions import (
    TransactionDescription,
    describe_transaction,
    list_transactions,
)
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.errors import BrokerError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


class ActiveProducer(NamedTuple):
    """What a partition remembers of a producer.

    `transaction_start_offset` is None if none of its transactions is open here, and
    `last_timestamp_ms` the time of its last record.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int | None


async def describe_producers(
    cluster: ClusterClient, partitions: Collection[TopicPartition]
) -> list[ActiveProducer]:
    """The producers that the partitions remember, in order."""
    found: dict[TopicPartition, list[ActiveProducer]] = {}

    async def attempt() -> None:
        missing = [each for each in partitions if each not in found]
        for node_id, led in (await cluster.by_leader(missing)).items():
            topics = [TopicRequest(name, each) for name, each in _by_topic(led).items()]
            request = DescribeProducersRequest(topics=topics)
            response = await (await cluster.connection(node_id)).send(request)
            for topic in response.topics:
                for answer in topic.partitions:
                    name = TopicPartition(topic.name, answer.partition_index)
                    check(
                        answer.error_code, f"partition {name}", answer.error_message, needs="read"
                    )
                    found[name] = [_producer_of(name, each) for each in answer.active_producers]

    await cluster.retrying(attempt, topics={each.topic for each in partitions})
    return sorted(
        (producer for each in found.values() for producer in each), key=lambda each: each[:2]
    )


async def find_hanging(
    cluster: ClusterClient, partitions: Collection[TopicPartition], *, idle_since_ms: int
) -> list[ActiveProducer]:
    """Producers whose transaction is open in a partition, and which no coordinator will end there.

    Looks only at those that have written nothing since a time of day. It should be as long ago as
    a transaction may take: one that has just been ended looks the same for a moment.
    """
    suspects = [
        each
        for each in await describe_producers(cluster, partitions)
        if each.transaction_start_offset is not None and each.last_timestamp_ms <= idle_since_ms
    ]
    if not suspects:
        return []
    known = await _transactions_of(cluster, {each.producer_id for each in suspects})
    hanging = [
        each
        for each in suspects
        if each.producer_id not in known or each.partition not in known[each.producer_id].partitions
    ]
    if not hanging:
        return []
    # What was ended between the two questions no longer hangs.
    again = await describe_producers(cluster, {each.partition for each in hanging})
    still_open = {(*each[:2], each.transaction_start_offset) for each in again}
    return [each for each in hanging if (*each[:2], each.transaction_start_offset) in still_open]


async def abort_transaction(cluster: ClusterClient, producer: ActiveProducer) -> None:
    """Write the marker that rolls back what a producer has open in one partition.

    Only for a transaction that hangs: one that goes on would be torn, as its other partitions may
    still be committed. Barnabas looks, and answers INVALID_TXN_STATE; other brokers do as told.
    """
    topic, partition = producer.partition
    request = WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(topic, [partition])],
                coordinator_epoch=max(producer.coordinator_epoch, 0),
            )
        ]
    )

    async def attempt() -> None:
        leader = await cluster.leader(producer.partition)
        response = await (await cluster.connection(leader)).send(
            request, timeout_ms=cluster.request_timeout_ms
        )
        for marker in response.markers:
            for answers in marker.topics:
                for answer in answers.partitions:
                    what = f"partition {answers.name}-{answer.partition_index}"
                    check(answer.error_code, f"{what}, producer {marker.producer_id}")

    await cluster.retrying(attempt, topics=[topic])


async def led_partitions(cluster: ClusterClient) -> list[TopicPartition]:
    """All partitions of the cluster that can be asked, those of internal topics too."""
    return [
        TopicPartition(name, each.partition)
        for name, topic in sorted((await cluster.refresh(None)).items())
        for each in topic.partitions
        if each.leader != NO_LEADER
    ]


async def _transactions_of(
    cluster: ClusterClient, producer_ids: Collection[int]
) -> Mapping[int, TransactionDescription]:
    described: dict[int, TransactionDescription] = {}
    for listed in await list_transactions(cluster, producer_ids=producer_ids):
        try:
            transaction = await describe_transaction(cluster, listed.transactional_id)
        except BrokerError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
        else:
            described[transaction.producer_id] = transaction
    return described


def _producer_of(partition: TopicPartition, state: ProducerState) -> ActiveProducer:
    start = state.current_txn_start_offset
    return ActiveProducer(
        partition,
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        start if start >= 0 else None,
    )


def _by_topic(partitions: Collection[TopicPartition]) -> Mapping[str, list[int]]:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(partition)
    return by_topic

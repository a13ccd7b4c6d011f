"""What is known of the replicas of partitions: who may lead, and how far each log goes."""

from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError, ProtocolMismatch
from barnabas.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_ANY_REPLICA = -2
_LATEST = -1
_PATIENCE_MS = 5_000


class EligibleLeaders(NamedTuple):
    """Replicas outside of the in-sync set."""

    elr: list[int]
    """They have all that is committed, and are elected when no replica in sync is alive."""
    last_known: list[int]
    """They were the last, and came back without all that they had acknowledged."""


class LogEnd(NamedTuple):
    epoch: int
    """Of the last record; -1 if there is none."""
    end_offset: int


async def eligible_leaders(
    cluster: ClusterClient, topics: Iterable[str]
) -> dict[TopicPartition, EligibleLeaders]:
    """Those of each partition of these topics."""
    found: dict[TopicPartition, EligibleLeaders] = {}
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in topics])
    while request.topics:
        try:
            response = await cluster.ask_any(request)
        except ProtocolMismatch:  # a Kafka that knows no eligible leaders
            return {}
        for topic in response.topics:
            for each in topic.partitions:
                found[TopicPartition(topic.name or "", each.partition_index)] = EligibleLeaders(
                    each.eligible_leader_replicas or [], each.last_known_elr or []
                )
        if response.next_cursor is None:
            break
        request.cursor = response.next_cursor
    return found


async def log_ends(
    cluster: ClusterClient, replicas: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, dict[int, LogEnd]]:
    """How far the log of each replica goes; replicas that do not answer are left out."""
    by_node: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for partition, nodes in replicas.items():
        for node_id in nodes:
            by_node[node_id].append(partition)
    found: dict[TopicPartition, dict[int, LogEnd]] = {partition: {} for partition in replicas}

    async def ask(node_id: int, partitions: list[TopicPartition]) -> None:
        topics: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for topic, index in partitions:
            topics[topic].append(ListOffsetsPartition(index, -1, _LATEST))
        request = ListOffsetsRequest(
            _ANY_REPLICA, 0, [ListOffsetsTopic(name, each) for name, each in topics.items()]
        )
        try:
            connection = await cluster.connection(node_id)
            response = await connection.send(request, timeout_ms=_PATIENCE_MS)
        except BarnabasError as error:
            if not error.retriable:
                raise
            return
        for topic_answer in response.topics:
            for each in topic_answer.partitions:
                if not each.error_code:
                    partition = TopicPartition(topic_answer.name, each.partition_index)
                    found[partition][node_id] = LogEnd(each.leader_epoch, each.offset)

    known = [node_id for node_id in by_node if node_id in cluster.brokers]
    await gather(*(ask(node_id, by_node[node_id]) for node_id in known))
    return found

"""Offsets by time: where a log begins and ends, and what came first at or after a moment."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
NOT_FOUND = -1

_CONSUMER = -1  # replica_id of a client


class ListedOffset(NamedTuple):
    """An offset and the time of its record; NOT_FOUND if no record is that young."""

    offset: int
    timestamp: int


async def list_offsets(
    cluster: ClusterClient,
    timestamps: Mapping[TopicPartition, int],
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, ListedOffset]:
    """Look up, for each partition, a time in milliseconds or LATEST, EARLIEST or MAX_TIMESTAMP.

    With READ_COMMITTED a log ends where its oldest transaction that goes on begins.

    Raises `UnknownTopic` if the metadata has no such partition. A leader that does not know the
    partition yet, because the topic is new, is asked again.
    """
    found: dict[TopicPartition, ListedOffset] = {}

    async def attempt() -> None:
        missing = [partition for partition in timestamps if partition not in found]
        for node_id, partitions in (await cluster.by_leader(missing)).items():
            asked = {each: timestamps[each] for each in partitions}
            found.update(await _ask(cluster, node_id, asked, isolation))

    topics = {partition.topic for partition in timestamps}
    await cluster.retrying(attempt, topics=topics)
    return {partition: found[partition] for partition in timestamps}


async def beginning_and_end(
    cluster: ClusterClient,
    partitions: list[TopicPartition],
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset of each log, and the one its next record will get."""
    first = await list_offsets(cluster, dict.fromkeys(partitions, EARLIEST), isolation)
    last = await list_offsets(cluster, dict.fromkeys(partitions, LATEST), isolation)
    return {each: (first[each].offset, last[each].offset) for each in partitions}


async def _ask(
    cluster: ClusterClient,
    node_id: int,
    timestamps: Mapping[TopicPartition, int],
    isolation: IsolationLevel,
) -> dict[TopicPartition, ListedOffset]:
    found: dict[TopicPartition, ListedOffset] = {}
    by_topic: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for (topic, partition), timestamp in timestamps.items():
        by_topic[topic].append(ListOffsetsPartition(partition_index=partition, timestamp=timestamp))
    request = ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=name, partitions=each) for name, each in by_topic.items()],
        timeout_ms=cluster.request_timeout_ms,
    )
    connection = await cluster.connection(node_id)
    response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
    for topic_answer in response.topics:
        for answer in topic_answer.partitions:
            name = TopicPartition(topic_answer.name, answer.partition_index)
            code = answer.error_code
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                code = ErrorCode.UNKNOWN_LEADER_EPOCH  # it has not heard that it leads a new topic
            check(code, f"partition {name}", needs="describe")
            found[name] = ListedOffset(answer.offset, answer.timestamp)
    return found

"""Topics: made, grown, emptied and deleted, and how much disk they take."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.admin.doubt import Doubt
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    BrokerUnreachable,
    ConnectionLost,
    RequestTimedOut,
    TopicExists,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest

BROKER_DEFAULT = -1
"""A number of partitions or replicas that is left to the broker."""

_ANSWER_TIMEOUT_MS = 5_000
_WHY_NOT_DELETED: dict[int, str] = {
    ErrorCode.POLICY_VIOLATION: "its topic is only compacted (cleanup.policy), so nothing can be "
    "deleted by offset"
}
_TOPICS_BY_NAME = 5  # DeleteTopics: from version 6 on, topics may go by their ids


class CreatedTopic(NamedTuple):
    """What a new topic has got. Old brokers do not tell: -1, and no configs."""

    replication_factor: int
    configs: dict[str, str | None]


async def create_topic(
    cluster: ClusterClient,
    name: str,
    *,
    partitions: int = BROKER_DEFAULT,
    replication_factor: int = BROKER_DEFAULT,
    configs: Mapping[str, str] | None = None,
) -> CreatedTopic:
    """Make a topic."""
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=replication_factor,
                configs=[CreatableTopicConfig(*item) for item in (configs or {}).items()],
            )
        ],
        timeout_ms=cluster.request_timeout_ms,
    )

    doubt = Doubt()

    async def attempt() -> CreatedTopic:
        try:
            with doubt.about_failures():
                response = await (await cluster.controller()).send(request)
                for result in response.topics:
                    what = f"topic {result.name}"
                    check(result.error_code, what, result.error_message, needs="create")
        except TopicExists:
            if doubt.is_open and await _has_partitions(cluster, name, partitions):
                return CreatedTopic(BROKER_DEFAULT, {})
            raise
        return CreatedTopic(
            max((result.replication_factor for result in response.topics), default=-1),
            {each.name: each.value for result in response.topics for each in result.configs or []},
        )

    return await cluster.retrying(attempt)


async def delete_topics(
    cluster: ClusterClient, names: Sequence[str]
) -> dict[str, BrokerError | None]:
    """Delete topics with all they hold; says for each why it could not be, if so."""
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=cluster.request_timeout_ms)

    doubt = Doubt()

    async def attempt() -> dict[str, BrokerError | None]:
        with doubt.about_failures():
            connection = await cluster.controller()
            response = await connection.send(request, max_version=_TOPICS_BY_NAME)
        gone = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if doubt.is_open else set()
        return {
            result.name or "": broker_error(
                result.error_code,
                f"topic {result.name}",
                result.error_message,
                needs="delete",
            )
            if result.error_code and result.error_code not in gone
            else None
            for result in response.responses
        }

    return await cluster.retrying(attempt)


async def create_partitions(cluster: ClusterClient, name: str, count: int) -> None:
    """Grow a topic to `count` partitions."""
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)],
        timeout_ms=cluster.request_timeout_ms,
    )

    doubt = Doubt()

    async def attempt() -> None:
        try:
            with doubt.about_failures():
                response = await (await cluster.controller()).send(request)
                for result in response.results:
                    what = f"topic {result.name}"
                    check(result.error_code, what, result.error_message, needs="alter")
        except BrokerError as error:
            is_done = doubt.is_open and error.code is ErrorCode.INVALID_PARTITIONS
            if not (is_done and await _has_partitions(cluster, name, count)):
                raise

    await cluster.retrying(attempt)


async def _has_partitions(cluster: ClusterClient, name: str, wanted: int) -> bool:
    """Whether a topic is there with as many partitions as were asked for."""
    topic = (await cluster.refresh([name]))[name]
    return not topic.error_code and wanted in (BROKER_DEFAULT, len(topic.partitions))


async def delete_records(
    cluster: ClusterClient, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Delete what lies before each offset (-1: everything); returns where the logs now begin."""
    deleted: dict[TopicPartition, int] = {}

    async def attempt() -> None:
        left = [each for each in offsets if each not in deleted]
        for node_id, partitions in (await cluster.by_leader(left)).items():
            topics: defaultdict[str, list[DeleteRecordsPartition]] = defaultdict(list)
            for each in partitions:
                topics[each.topic].append(DeleteRecordsPartition(each.partition, offsets[each]))
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name, rows) for name, rows in topics.items()],
                timeout_ms=cluster.request_timeout_ms,
            )
            response = await (await cluster.connection(node_id)).send(request)
            for topic in response.topics:
                for answer in topic.partitions:
                    name = TopicPartition(topic.name, answer.partition_index)
                    reason = _WHY_NOT_DELETED.get(answer.error_code)
                    check(answer.error_code, f"partition {name}", reason, needs="delete")
                    deleted[name] = answer.low_watermark

    await cluster.retrying(attempt, topics={each.topic for each in offsets})
    return deleted


async def log_sizes(
    cluster: ClusterClient, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, int]:
    """The bytes on disk of these partitions (None: all), of the largest replica of each.

    A broker that does not answer is left out if another does: its replicas have others.
    """
    sizes: dict[TopicPartition, int] = {}
    unavailable: list[BarnabasError] = []
    request = DescribeLogDirsRequest(topics=None if partitions is None else _by_topic(partitions))
    for node_id in list(cluster.brokers):
        try:
            connection = await cluster.connection(node_id)
            response = await connection.send(request, timeout_ms=_ANSWER_TIMEOUT_MS)
        except (BrokerUnreachable, ConnectionLost, RequestTimedOut) as error:
            unavailable.append(error)
            continue
        check(response.error_code, f"log directories of broker {node_id}", needs="describe")
        for directory in response.results:
            if not directory.topics:  # one that fails now and then still tells what it holds
                what = f"log directory {directory.log_dir} of broker {node_id}"
                check(directory.error_code, what)
            for topic in directory.topics:
                for partition in topic.partitions:
                    name = TopicPartition(topic.name, partition.partition_index)
                    sizes[name] = max(sizes.get(name, 0), partition.partition_size)
    if unavailable and len(unavailable) == len(cluster.brokers):
        raise unavailable[0]
    return sizes


def _by_topic(partitions: Iterable[TopicPartition]) -> list[DescribableLogDirTopic]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [DescribableLogDirTopic(*each) for each in topics.items()]

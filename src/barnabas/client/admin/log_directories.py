"""The data directories of brokers: what they hold, how much room is left, and which have failed."""

from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BrokerUnreachable, ConnectionLost, RequestTimedOut
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)

_ANSWER_TIMEOUT_MS = 5_000


class LogDirectory(NamedTuple):
    """A data directory of a node. Its sizes are None where the broker does not tell them."""

    node_id: int
    path: str
    error: str | None
    """The error code of a directory that has failed."""
    total_bytes: int | None
    usable_bytes: int | None
    sizes: dict[TopicPartition, int]
    """The bytes of each replica in it."""


async def log_directories(
    cluster: ClusterClient, partitions: Iterable[TopicPartition] | None = None
) -> list[LogDirectory]:
    """Those of all brokers that answer, in order; with the sizes of all partitions or of some."""
    topics: list[DescribableLogDirTopic] | None = None
    if partitions is not None:
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for name in partitions:
            by_topic[name.topic].append(name.partition)
        topics = [DescribableLogDirTopic(name, each) for name, each in by_topic.items()]

    async def ask(node_id: int) -> list[LogDirectory]:
        try:
            connection = await cluster.connection(node_id)
            request = DescribeLogDirsRequest(topics=topics)
            response = await connection.send(request, timeout_ms=_ANSWER_TIMEOUT_MS)
        except (BrokerUnreachable, ConnectionLost, RequestTimedOut):
            return []
        check(response.error_code, f"log directories of broker {node_id}", needs="describe")
        return [_directory(node_id, each) for each in response.results]

    answers = await gather(*map(ask, sorted(cluster.brokers)))
    return [each for answer in answers for each in answer]


def _directory(node_id: int, result: DescribeLogDirsResult) -> LogDirectory:
    return LogDirectory(
        node_id,
        result.log_dir,
        ErrorCode(result.error_code).name if result.error_code else None,
        result.total_bytes if result.total_bytes >= 0 else None,
        result.usable_bytes if result.usable_bytes >= 0 else None,
        {
            TopicPartition(topic.name, each.partition_index): each.partition_size
            for topic in result.topics
            for each in topic.partitions
        },
    )

"""One fetch from one broker.

Topics go by their ids where they are known and the broker takes them. One that was deleted and
created again has another id, so its records are never taken for those of the old one.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from barnabas.wire.primitives import ZERO_UUID

_TOPICS_BY_NAME = 12  # from version 13 on, topics go by their ids


@dataclass(slots=True)
class FetchTuning:
    """How long a broker waits for how many bytes, and how many it sends at most."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 * 1024 * 1024
    partition_max_bytes: int = 1024 * 1024
    rack: str = ""
    """Where the consumer is: a leader may name a follower there to read from."""


async def fetch(
    cluster: ClusterClient,
    node_id: int,
    channel: Channel,
    offsets: Mapping[TopicPartition, int],
    tuning: FetchTuning,
    isolation: IsolationLevel,
    topic_ids: Mapping[TopicPartition, bytes] | None = None,
    rack: str = "",
    on_throttle: Callable[[int], None] | None = None,
) -> list[tuple[TopicPartition, PartitionData]]:
    """What the broker has of these partitions from these offsets on.

    With a `rack`, a leader may name a follower there to read from. `on_throttle` gets the
    milliseconds for which the answer throttles the client.
    """
    ids = topic_ids or {}
    topics: defaultdict[tuple[str, bytes], list[FetchPartition]] = defaultdict(list)
    for name, offset in offsets.items():
        topics[name.topic, ids.get(name, ZERO_UUID)].append(
            FetchPartition(
                partition=name.partition,
                fetch_offset=offset,
                partition_max_bytes=tuning.partition_max_bytes,
            )
        )
    request = FetchRequest(
        max_wait_ms=tuning.max_wait_ms,
        min_bytes=tuning.min_bytes,
        max_bytes=tuning.max_bytes,
        isolation_level=isolation,
        topics=[FetchTopic(name, topic_id, each) for (name, topic_id), each in topics.items()],
        rack_id=rack,
    )
    connection = await cluster.connection(node_id, channel)
    answer = connection.send(
        request,
        max_version=None
        if all(topic_id != ZERO_UUID for _, topic_id in topics)
        else _TOPICS_BY_NAME,
        timeout_ms=tuning.max_wait_ms + cluster.request_timeout_ms,
    )
    response = await cluster.while_leading(
        node_id, offsets.keys(), answer, patience_ms=tuning.max_wait_ms
    )
    if on_throttle is not None:
        on_throttle(response.throttle_time_ms)
    check(response.error_code, f"fetch from broker {node_id}")
    names = {topic_id: name for name, topic_id in topics}
    named = [
        (
            TopicPartition(
                answers.topic or names.get(answers.topic_id, ""), answer.partition_index
            ),
            answer,
        )
        for answers in response.responses
        for answer in answers.partitions
    ]
    return [(name, data) for name, data in named if name in offsets]

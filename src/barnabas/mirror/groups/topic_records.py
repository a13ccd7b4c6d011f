"""The internal topics of a mirror: made, read from the beginning, and again from there on."""

from contextlib import suppress
from typing import NamedTuple

from barnabas.client.admin.topics import BROKER_DEFAULT, create_topic
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import TopicExists, UnknownTopic
from barnabas.mirror.formats.internal_topics import INTERNAL_TOPIC_CONFIGS


class TopicRecord(NamedTuple):
    """A record of an internal topic."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]


class TopicReader:
    """Reads a topic of one partition that compaction keeps small."""

    def __init__(self, cluster: ClusterClient, topic: str) -> None:
        self._cluster = cluster
        self._partition = TopicPartition(topic, 0)
        self._position = 0

    async def read_new(self) -> list[TopicRecord]:
        """What is there since the last call; nothing if there is no such topic."""
        try:
            bounds = await beginning_and_end(
                self._cluster, [self._partition], IsolationLevel.READ_COMMITTED
            )
        except UnknownTopic:
            self._position = 0
            return []
        first, end = bounds[self._partition]
        start = max(first, self._position) if self._position <= end else first
        reading = RangeReader(
            self._cluster,
            [RecordRange(self._partition, start, end)],
            on_loss=lambda _: None,  # compaction and retention are expected
        )
        found = []
        while fetched := await reading.fetch():
            for _, record in reading.records(fetched):
                found.append(TopicRecord(record.key, record.value, dict(record.headers)))
        self._position = end
        return found


async def make_internal_topic(
    cluster: ClusterClient, topic: str, replication_factor: int | None
) -> None:
    """Make it with one partition, unless it is there."""
    if topic in await cluster.refresh([topic]) and cluster.known_topic(topic) is not None:
        return
    with suppress(TopicExists):
        await create_topic(
            cluster,
            topic,
            partitions=1,
            replication_factor=replication_factor or BROKER_DEFAULT,
            configs=INTERNAL_TOPIC_CONFIGS,
        )

"""Writes the internal topics of a mirror: offset syncs, checkpoints, heartbeats."""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.mirror.flow import Flow
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.formats.heartbeat import HeartbeatRecord
from barnabas.mirror.formats.internal_topics import HEARTBEATS_TOPIC
from barnabas.mirror.groups.stored_syncs import sync_of
from barnabas.mirror.groups.topic_records import make_internal_topic
from barnabas.mirror.names import checkpoints_topic_of, syncs_topic_of
from barnabas.mirror.offsets.translations import Translations


class InternalWriter:
    """Writes into one cluster of a flow. Use it as an async context manager."""

    def __init__(self, flow: Flow, cluster: ClusterClient) -> None:
        self._flow = flow
        self._cluster = cluster
        self._producer = RecordProducer(cluster, linger_ms=0, auto_create=False)
        self._syncs_topic = syncs_topic_of(flow)
        self._checkpoints_topic = checkpoints_topic_of(flow)
        self._made: set[str] = set()

    async def __aenter__(self) -> Self:
        await self._producer.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._producer.__aexit__(kind, error, trace)

    async def make_syncs_topic(self) -> None:
        """Make the topic of syncs, by whose name stop requests and notes are kept, too."""
        await self._make(self._syncs_topic)

    async def write_syncs(
        self, translations: Translations, source_ends: Mapping[TopicPartition, int]
    ) -> None:
        """Store what has changed; what is refused is tried again the next time."""
        await self.make_syncs_topic()
        with translations.changes() as changes:
            sent = []
            for partition, translation in changes:
                record, headers = sync_of(partition, translation, source_ends.get(partition))
                key, value = record.key, record.value
                sent.append(
                    await self._producer.send(
                        self._syncs_topic, value, key=key, headers=headers, partition=0
                    )
                )
            for each in sent:
                await each

    async def write_checkpoints(self, checkpoints: Iterable[CheckpointRecord]) -> None:
        """Say how far groups are. The topic is made even if there are none, for others to find."""
        await self._make(self._checkpoints_topic)
        sent = [
            await self._producer.send(
                self._checkpoints_topic, record.value, key=record.key, partition=0
            )
            for record in checkpoints
        ]
        for each in sent:
            await each

    async def write_heartbeat(self, heartbeat: HeartbeatRecord) -> None:
        """Say that a flow is alive."""
        await self._make(HEARTBEATS_TOPIC)
        await (
            await self._producer.send(
                HEARTBEATS_TOPIC, heartbeat.value, key=heartbeat.key, partition=0
            )
        )

    async def _make(self, topic: str) -> None:
        if topic not in self._made:
            await make_internal_topic(self._cluster, topic, self._flow.replication_factor)
            self._made.add(topic)
